"""Azure: the answer of the Retail Prices API, one page or a list of pages."""

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.pools import ON_DEMAND, SPOT
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote
from tradewind.market.table import Key, Row, raise_errors


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

    def is_machine(self, system: str) -> bool:
        """Not reserved, not of Cloud Services, and not of Batch's low priority."""
        windows = "Windows" in self.product_name
        return (
            self.service_name == "Virtual Machines"
            and self.type == "Consumption"
            and self.unit_of_measure == "1 Hour"
            and bool(self.arm_sku_name)
            and "Low Priority" not in self.sku_name
            and "Cloud Services" not in self.product_name
            and windows == (system == "Windows")
        )

    @property
    def key(self) -> Key:
        terms = SPOT if self.sku_name.endswith("Spot") else ON_DEMAND
        return Key(instance_type=self.arm_sku_name, region=self.arm_region_name or "*", capacity_type=terms)


class _Page(msgspec.Struct):
    items: list[_Item] = msgspec.field(name="Items")
    next_page: str | None = msgspec.field(name="NextPageLink", default=None)


def from_retail_prices(text: str, system: str) -> list[Row]:
    pages = decoded(text, list[_Page]) if text.lstrip().startswith("[") else [decoded(text, _Page)]
    rows: dict[Key, Row] = {}
    errors: list[str] = []
    for page in pages:
        for at, item in enumerate(page.items):
            if not item.is_machine(system):
                continue
            if item.currency_code != "USD":
                errors.append(f"Items[{at}].currencyCode: {item.currency_code}, not USD")
            elif not 0 <= item.retail_price <= MAX_DOLLARS_AN_HOUR:
                errors.append(f"Items[{at}].retailPrice: {item.retail_price} is not a price")
            elif item.retail_price > 0:
                rows[item.key] = Row(item.key, Quote(item.retail_price, item.retail_price))
    raise_errors(errors)
    if not rows:
        raise PriceTableError(f"no virtual machine for the system {system} among the items")
    if pages[-1].next_page:
        raise PriceTableError(
            "the last page has a NextPageLink: fetch the others too and join all pages in one JSON array"
        )
    return list(rows.values())
