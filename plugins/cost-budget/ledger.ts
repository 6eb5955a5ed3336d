/**
 * What was spent in the current day and month, by whom, and what is reserved for calls under way. Nothing here waits:
 * whoever looks and reserves does both before anybody else can look.
 */
import { createLatest, type Fields, isRecord, list, num, type PluginState, record, str } from '#sdk'

export interface Spent {
  readonly money: number
  readonly tokens: number
}

export interface Call {
  /** Of the model call. */
  readonly id: string
  /** '' for none. The calls of a turn come one after the other. */
  readonly turnId: string
  /** `global`, `user:telegram:5`, `chat:telegram:dm:5`: who pays. */
  readonly payers: readonly string[]
}

export interface Ledger {
  spent(payer: string, period: Period): Spent
  /** Of all calls under way except this one. */
  reserved(payer: string, except: string): Spent
  /** In the place of what the call has reserved so far, and of calls of its turn that never began. */
  reserve(call: Call, expected: Spent): void
  /** The vendor is asked. */
  began(id: string): void
  /** The call is over, and this is what it came to. */
  settle(call: Call, spent: Spent): void
  /** The turn is over; what its calls have reserved and never begun is free again. */
  turnEnded(turnId: string): void
  /** True once in the period. */
  firstTime(mark: string, period: Period): boolean
  /** Resolves when everything is on disk. */
  settled(): Promise<void>
}

export type Period = 'day' | 'month'

interface Reservation extends Call {
  readonly expected: Spent
  readonly at: number
  begun: boolean
}

export interface LedgerDeps {
  readonly state: Pick<PluginState, 'get' | 'set'>
  /** ms */
  readonly now: () => number
  timeZone(): string
  /** Told when the counts could not be kept; they go on in memory. */
  readonly failed: (error: unknown) => void
}

const nothing: Spent = { money: 0, tokens: 0 }
const key = 'ledger'
/** Those of earlier days stay in memory for a while: a clock that is set may be set back. */
const keptPages = 6
/** A call that never began and belongs to no turn: something refused it, and nobody told. */
const forgottenMs = 600_000

/** Rejects when the state cannot be read. */
export async function createLedger({ state, now, timeZone, failed }: LedgerDeps): Promise<Ledger> {
  const open = new Map<string, Reservation>()
  const pages = new Map(
    Object.entries(record(await state.get(key))).map(([date, page]) => [date, pageOf(record(page))]),
  )
  const saving = createLatest(() => {
    const current = [dateOf('day'), dateOf('month')]
    for (const date of [...pages.keys()].slice(0, -keptPages)) if (!current.includes(date)) pages.delete(date)
    const kept = [...pages].filter(([date]) => current.includes(date))
    return state.set(key, Object.fromEntries(kept.map(([date, page]) => [date, written(page)])))
  }, failed)
  const dates = createDates()
  const dateOf = (period: Period) => dates(now(), timeZone(), period)

  function page(period: Period): Page {
    const date = dateOf(period)
    const found = pages.get(date) ?? { spent: new Map(), marks: new Set() }
    pages.set(date, found)
    return found
  }

  function add(payer: string, period: Period, { money, tokens }: Spent): void {
    const { spent } = page(period)
    const before = spent.get(payer) ?? nothing
    spent.set(payer, { money: before.money + money, tokens: before.tokens + tokens })
  }

  return {
    spent: (payer, period) => pages.get(dateOf(period))?.spent.get(payer) ?? nothing,
    reserved(payer, except) {
      let money = 0
      let tokens = 0
      for (const { id, payers, expected } of open.values()) {
        if (id === except || !payers.includes(payer)) continue
        money += expected.money
        tokens += expected.tokens
      }
      return { money, tokens }
    },
    reserve(call, expected) {
      const at = now()
      for (const [id, { turnId, begun, at: since }] of open) {
        const replaced = id !== call.id && turnId === call.turnId && turnId !== ''
        if (!begun && (replaced || at - since > forgottenMs)) open.delete(id)
      }
      open.set(call.id, { ...call, expected, at, begun: false })
    },
    began(id) {
      const reservation = open.get(id)
      if (reservation !== undefined) reservation.begun = true
    },
    settle({ id, payers }, spent) {
      open.delete(id)
      if (spent.tokens === 0) return
      for (const payer of payers) for (const period of ['day', 'month'] as const) add(payer, period, spent)
      saving.changed()
    },
    turnEnded(turnId) {
      for (const [id, reservation] of open) if (reservation.turnId === turnId && !reservation.begun) open.delete(id)
    },
    firstTime(mark, period) {
      const { marks } = page(period)
      if (marks.has(mark)) return false
      marks.add(mark)
      saving.changed()
      return true
    },
    settled: saving.settled,
  }
}

/** A day or a month. */
interface Page {
  readonly spent: Map<string, Spent>
  /** What was told already. */
  readonly marks: Set<string>
}

function pageOf(page: Fields): Page {
  const spent = Object.entries(record(page['spent'])).filter(([, entry]) => isRecord(entry))
  return {
    spent: new Map(
      spent.map(([payer, entry]) => [
        payer,
        { money: num(record(entry)['money']), tokens: num(record(entry)['tokens']) },
      ]),
    ),
    marks: new Set(list(page['marks']).map(str)),
  }
}

function written({ spent, marks }: Page): Fields {
  return { spent: Object.fromEntries(spent), marks: [...marks] }
}

/** `2026-08-21` and `2026-08`, as the calendar has them in a time zone. */
function createDates(): (at: number, timeZone: string, period: Period) => string {
  let known: { readonly timeZone: string; readonly format: Intl.DateTimeFormat } | undefined
  return (at, timeZone, period) => {
    if (known?.timeZone !== timeZone) {
      const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
      known = { timeZone, format: new Intl.DateTimeFormat('en-CA', { timeZone, ...parts }) }
    }
    return known.format.format(at).slice(0, period === 'day' ? 10 : 7)
  }
}
