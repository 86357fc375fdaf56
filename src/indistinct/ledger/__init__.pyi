from indistinct.ledger.history import Linked as Linked
from indistinct.ledger.ledger import Ledger as Ledger
from indistinct.ledger.store.entry import Draft as Draft
from indistinct.ledger.store.entry import Entry as Entry
