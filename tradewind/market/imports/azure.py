"""Azure: the answer of the Retail Prices API, one page or a list of pages."""

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.imports.systems import described, os_of_system
from tradewind.market.pools import ON_DEMAND, SPOT
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote
from tradewind.market.rows import Key, Row, raise_errors


class _Item(msgspec.Struct, rename="camel"):
    retail_price: float
    currency_code: str = "USD"
    arm_region_name: str = ""
    arm_sku_name: str = ""
    sku_name: str = ""
    product_name: str = ""
    service_name: str = "Virtual Machines"
    unit_of_measure: str = "1 Hour"
    type: str = "Consumption"

    def is_machine(self) -> bool:
        """Not reserved, not of Cloud Services, and not of Batch's low priority."""
        return (
            self.service_name == "Virtual Machines"
            and self.type == "Consumption"
            and self.unit_of_measure == "1 Hour"
            and bool(self.arm_sku_name)
            and "Low Priority" not in self.sku_name
            and "Cloud Services" not in self.product_name
        )

    def key(self, system: str) -> Key:
        terms = SPOT if self.sku_name.endswith("Spot") else ON_DEMAND
        region = self.arm_region_name or "*"
        return Key(instance_type=self.arm_sku_name, region=region, os=system, capacity_type=terms)


class _Page(msgspec.Struct):
    items: list[_Item] = msgspec.field(name="Items")
    next_page: str | None = msgspec.field(name="NextPageLink", default=None)


def from_retail_prices(text: str, system: str | None) -> list[Row]:
    pages = decoded(text, list[_Page]) if text.lstrip().startswith("[") else [decoded(text, _Page)]
    rows: dict[Key, Row] = {}
    errors: list[str] = []
    for page in pages:
        for at, item in enumerate(page.items):
            name = os_of_system("Windows" if "Windows" in item.product_name else "Linux", system)
            if name is None or not item.is_machine():
                continue
            if item.currency_code != "USD":
                errors.append(f"Items[{at}].currencyCode: {item.currency_code}, not USD")
            elif not 0 <= item.retail_price <= MAX_DOLLARS_AN_HOUR:
                errors.append(f"Items[{at}].retailPrice: {item.retail_price} is not a price")
            elif item.retail_price > 0:
                rows[item.key(name)] = Row(item.key(name), Quote(item.retail_price, item.retail_price))
    raise_errors(errors)
    if not rows:
        raise PriceTableError(f"no virtual machine for {described(system)} among the items")
    if pages[-1].next_page:
        raise PriceTableError(
            "the last page has a NextPageLink: fetch the others too and join all pages in one JSON array"
        )
    return list(rows.values())
