from tradewind.cli.main import main

main()
