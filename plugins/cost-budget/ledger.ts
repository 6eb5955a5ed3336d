/**
 * Records the amounts spent in the current day and month per payer, and the reservations of running calls. All methods
 * except `flush` are synchronous, so that a check and the reservation after it are atomic.
 */
import { asArray, asNumber, asRecord, asString, createCoalescer, type Fields, isRecord, type PluginState } from '#sdk'

export interface Spending {
  readonly money: number
  readonly tokens: number
}

export interface Call {
  /** The id of the model call. */
  readonly id: string
  /** '' without a turn. The calls of a turn run one after the other. */
  readonly turnId: string
  /** `global`, `user:telegram:5`, `chat:telegram:dm:5` … */
  readonly payers: readonly string[]
}

export interface Ledger {
  spent(payer: string, period: Period): Spending
  /** The reservations of all running calls except this one. */
  reserved(payer: string, except: string): Spending
  /** Replaces an earlier reservation of the call, and reservations of calls of its turn that did not start. */
  reserve(call: Call, expected: Spending): void
  /** The request was sent. */
  markStarted(id: string): void
  /** Replaces the reservation by the actual amounts. */
  recordCall(call: Call, spent: Spending): void
  /** Releases the reservations of calls of the turn that did not start. */
  turnEnded(turnId: string): void
  /** Returns true once per period. */
  markOnce(mark: string, period: Period): boolean
  /** Resolves when all changes are on disk. */
  flush(): Promise<void>
}

/** `turn`: the amounts of turns, by the payer `turn:<id>`. */
export type Period = 'day' | 'month' | 'turn'

interface Reservation extends Call {
  readonly expected: Spending
  readonly at: number
  isStarted: boolean
}

const noSpending: Spending = { money: 0, tokens: 0 }
const stateKey = 'ledger'
/** Earlier periods stay in memory for a while, because the clock may be set back. */
const maxPeriodsKept = 6
/** Each of them is stored again after every response. */
const maxTurnsKept = 200
/** Releases reservations of calls without a turn that never started, for example because a guardrail blocked them. */
const reservationTtlMs = 600_000

/**
 * Rejects when the state cannot be read.
 *
 * @param onSaveError called when the ledger cannot be stored; it stays in memory
 */
export async function createLedger(
  state: Pick<PluginState, 'get' | 'set'>,
  timeZone: () => string,
  onSaveError: (error: unknown) => void,
  now = Date.now,
): Promise<Ledger> {
  const reservations = new Map<string, Reservation>()
  const periods = new Map(
    Object.entries(asRecord(await state.get(stateKey))).map(([date, periodRecord]) => [
      date,
      parsePeriodRecord(asRecord(periodRecord)),
    ]),
  )
  const saving = createCoalescer(() => {
    const current = [dateOf('day'), dateOf('month'), dateOf('turn')]
    for (const date of [...periods.keys()].slice(0, -maxPeriodsKept)) if (!current.includes(date)) periods.delete(date)
    const recent = [...periods].filter(([date]) => current.includes(date))
    return state.set(stateKey, Object.fromEntries(recent.map(([date, page]) => [date, serializePeriodRecord(page)])))
  }, onSaveError)
  const dates = createDateFormatter()
  const dateOf = (period: Period) => dates(now(), timeZone(), period)

  function page(period: Period): PeriodRecord {
    const date = dateOf(period)
    const record = periods.get(date) ?? { spent: new Map(), marks: new Set() }
    periods.set(date, record)
    return record
  }

  function add(payer: string, period: Period, { money, tokens }: Spending): void {
    const { spent } = page(period)
    const before = spent.get(payer) ?? noSpending
    spent.set(payer, { money: before.money + money, tokens: before.tokens + tokens })
  }

  /** The turns that spent last are kept: a turn may go on after a restart or a pause. */
  function addToTurn(payer: string, amounts: Spending): void {
    add(payer, 'turn', amounts)
    const { spent, marks } = page('turn')
    const newest = spent.get(payer) ?? noSpending
    spent.delete(payer)
    spent.set(payer, newest)
    for (const oldest of [...spent.keys()].slice(0, -maxTurnsKept)) spent.delete(oldest)
    for (const mark of [...marks].slice(0, -maxTurnsKept)) marks.delete(mark)
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
      for (const payer of payers) {
        if (payer.startsWith('turn:')) addToTurn(payer, spent)
        else for (const period of ['day', 'month'] as const) add(payer, period, spent)
      }
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
  /** Warnings that were already sent. */
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

/** Returns `2026-08-21` or `2026-08`, the current period in a time zone. */
function createDateFormatter(): (at: number, timeZone: string, period: Period) => string {
  let known: { readonly timeZone: string; readonly format: Intl.DateTimeFormat } | undefined
  return (at, timeZone, period) => {
    if (period === 'turn') return period
    if (known?.timeZone !== timeZone) {
      const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
      known = { timeZone, format: new Intl.DateTimeFormat('en-CA', { timeZone, ...parts }) }
    }
    return known.format.format(at).slice(0, period === 'day' ? 10 : 7)
  }
}
