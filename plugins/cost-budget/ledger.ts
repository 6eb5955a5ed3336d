/**
 * What was spent in the current day and month, by whom, and what is reserved for calls under way. Nothing here waits:
 * whoever looks and reserves does both before anybody else can look.
 */
import { asArray, asNumber, asRecord, asString, createCoalescer, type Fields, isRecord, type PluginState } from '#sdk'

export interface Spending {
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
  spent(payer: string, period: Period): Spending
  /** Of all calls under way except this one. */
  reserved(payer: string, except: string): Spending
  /** In the place of what the call has reserved so far, and of calls of its turn that never began. */
  reserve(call: Call, expected: Spending): void
  /** The vendor is asked. */
  markStarted(id: string): void
  /** The call is over, and this is what it came to. */
  recordCall(call: Call, spent: Spending): void
  /** The turn is over; what its calls have reserved and never begun is free again. */
  turnEnded(turnId: string): void
  /** True once in the period. */
  markOnce(mark: string, period: Period): boolean
  /** Resolves when everything is on disk. */
  flush(): Promise<void>
}

export type Period = 'day' | 'month'

interface Reservation extends Call {
  readonly expected: Spending
  readonly at: number
  isStarted: boolean
}

export interface LedgerDeps {
  readonly state: Pick<PluginState, 'get' | 'set'>
  /** ms */
  readonly now: () => number
  timeZone(): string
  /** Told when the counts could not be kept; they go on in memory. */
  readonly onSaveError: (error: unknown) => void
}

const noSpending: Spending = { money: 0, tokens: 0 }
const stateKey = 'ledger'
/** Those of earlier days stay in memory for a while: a clock that is set may be set back. */
const maxPeriodsKept = 6
/** A call that never began and belongs to no turn: something refused it, and nobody told. */
const reservationTtlMs = 600_000

/** Rejects when the state cannot be read. */
export async function createLedger({ state, now, timeZone, onSaveError: failed }: LedgerDeps): Promise<Ledger> {
  const reservations = new Map<string, Reservation>()
  const periods = new Map(
    Object.entries(asRecord(await state.get(stateKey))).map(([date, periodRecord]) => [
      date,
      parsePeriodRecord(asRecord(periodRecord)),
    ]),
  )
  const saving = createCoalescer(() => {
    const current = [dateOf('day'), dateOf('month')]
    for (const date of [...periods.keys()].slice(0, -maxPeriodsKept)) if (!current.includes(date)) periods.delete(date)
    const kept = [...periods].filter(([date]) => current.includes(date))
    return state.set(stateKey, Object.fromEntries(kept.map(([date, page]) => [date, serializePeriodRecord(page)])))
  }, failed)
  const dates = createDateFormatter()
  const dateOf = (period: Period) => dates(now(), timeZone(), period)

  function page(period: Period): PeriodRecord {
    const date = dateOf(period)
    const found = periods.get(date) ?? { spent: new Map(), marks: new Set() }
    periods.set(date, found)
    return found
  }

  function add(payer: string, period: Period, { money, tokens }: Spending): void {
    const { spent } = page(period)
    const before = spent.get(payer) ?? noSpending
    spent.set(payer, { money: before.money + money, tokens: before.tokens + tokens })
  }

  return {
    spent: (payer, period) => periods.get(dateOf(period))?.spent.get(payer) ?? noSpending,
    reserved(payer, except) {
      let money = 0
      let tokens = 0
      for (const { id, payers, expected } of reservations.values()) {
        if (id === except || !payers.includes(payer)) continue
        money += expected.money
        tokens += expected.tokens
      }
      return { money, tokens }
    },
    reserve(call, expected) {
      const at = now()
      for (const [id, { turnId, isStarted, at: since }] of reservations) {
        const replaced = id !== call.id && turnId === call.turnId && turnId !== ''
        if (!isStarted && (replaced || at - since > reservationTtlMs)) reservations.delete(id)
      }
      reservations.set(call.id, { ...call, expected, at, isStarted: false })
    },
    markStarted(id) {
      const reservation = reservations.get(id)
      if (reservation !== undefined) reservation.isStarted = true
    },
    recordCall({ id, payers }, spent) {
      reservations.delete(id)
      if (spent.tokens === 0) return
      for (const payer of payers) for (const period of ['day', 'month'] as const) add(payer, period, spent)
      saving.schedule()
    },
    turnEnded(turnId) {
      for (const [id, reservation] of reservations)
        if (reservation.turnId === turnId && !reservation.isStarted) reservations.delete(id)
    },
    markOnce(mark, period) {
      const { marks } = page(period)
      if (marks.has(mark)) return false
      marks.add(mark)
      saving.schedule()
      return true
    },
    flush: saving.idle,
  }
}

/** A day or a month. */
interface PeriodRecord {
  readonly spent: Map<string, Spending>
  /** What was told already. */
  readonly marks: Set<string>
}

function parsePeriodRecord(page: Fields): PeriodRecord {
  const spent = Object.entries(asRecord(page['spent'])).filter(([, entry]) => isRecord(entry))
  return {
    spent: new Map(
      spent.map(([payer, entry]) => [
        payer,
        { money: asNumber(asRecord(entry)['money']), tokens: asNumber(asRecord(entry)['tokens']) },
      ]),
    ),
    marks: new Set(asArray(page['marks']).map(asString)),
  }
}

function serializePeriodRecord({ spent, marks }: PeriodRecord): Fields {
  return { spent: Object.fromEntries(spent), marks: [...marks] }
}

/** `2026-08-21` and `2026-08`, as the calendar has them in a time zone. */
function createDateFormatter(): (at: number, timeZone: string, period: Period) => string {
  let known: { readonly timeZone: string; readonly format: Intl.DateTimeFormat } | undefined
  return (at, timeZone, period) => {
    if (known?.timeZone !== timeZone) {
      const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
      known = { timeZone, format: new Intl.DateTimeFormat('en-CA', { timeZone, ...parts }) }
    }
    return known.format.format(at).slice(0, period === 'day' ? 10 : 7)
  }
}
