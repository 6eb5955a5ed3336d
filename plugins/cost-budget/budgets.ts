/**
 * Decides about model calls: whether there is money left, who pays, and what a call came to.
 */
import { type Fields, type Logger, str, type Usage } from '#sdk'
import type { Call, Ledger, Spent } from './ledger.ts'
import { expectedUsage } from './meter.ts'
import { costOf } from './prices.ts'
import type { Budget, BudgetSettings } from './settings.ts'
import { nearlyUsedUp, refusal } from './words.ts'

export interface Budgets {
  /** Reserves what the call may cost, or says why it must not be made. */
  admit(request: Fields, fields: Fields): string | null
  /** Whether a cheaper model has to do. */
  routesDown(fields: Fields): boolean
  callOf(fields: Fields): Call
  expected(request: Fields): Usage
  settle(call: Call, model: string, usage: Usage): void
  /** What is to be told once, a sentence each. */
  warnings(who: Who): string[]
  /** The budgets that concern somebody, with what is spent of them. */
  standing(who: Who): { readonly budget: Budget; readonly spent: Spent }[]
  /** Models without a price that were used. */
  unpriced(): readonly string[]
}

export interface Who {
  /** `<platform>:<id>`; '' for nobody. */
  readonly user: string
  /** The session's key; '' where it is not known. */
  readonly chat: string
}

export function createBudgets(settings: () => BudgetSettings, ledger: Ledger, log: Logger): Budgets {
  const unpriced = new Set<string>()

  const priced = (model: string, usage: Usage): Spent => {
    const price = settings().prices.of(model)
    if (price === undefined && !unpriced.has(model) && settings().budgets.some(({ unit }) => unit === 'money')) {
      unpriced.add(model)
      log.warn({ model }, `no price is known for ${model}: its answers count as free (settings.prices)`)
    }
    const tokens = usage.inputTokens + usage.outputTokens
    return { money: price === undefined ? 0 : costOf(usage, price), tokens }
  }

  /** With who pays for each. */
  function concerning(who: Who): { readonly budget: Budget; readonly payer: string }[] {
    return settings().budgets.flatMap((budget) => {
      const { per, only, except } = budget
      const name = per === 'global' ? '' : who[per]
      if (per !== 'global' && name === '') return []
      if (except.has(name) || (only.size > 0 && !only.has(name))) return []
      return [{ budget, payer: payerOf(per, name) }]
    })
  }

  function total({ unit, period }: Budget, payer: string, except: string) {
    const [spent, reserved] = [ledger.spent(payer, period)[unit], ledger.reserved(payer, except)[unit]]
    return { spent, withReserved: spent + reserved }
  }

  const usedUp = (who: Who, action: Budget['action'], id: string) =>
    concerning(who).find(
      ({ budget, payer }) => budget.action === action && total(budget, payer, id).withReserved >= budget.limit,
    )

  function callOf(fields: Fields): Call {
    const kinds = new Set(settings().budgets.map(({ per }) => per))
    const { user, chat } = whoIn(fields)
    const payers = [
      payerOf('global', ''),
      ...(kinds.has('user') && user !== '' ? [payerOf('user', user)] : []),
      ...(kinds.has('chat') && chat !== '' ? [payerOf('chat', chat)] : []),
    ]
    return { id: str(fields['api_request_id']), turnId: str(fields['turn_id']), payers }
  }

  const expected = (request: Fields) => expectedUsage(request, settings().expectedOutputTokens)

  return {
    callOf,
    expected,
    unpriced: () => [...unpriced],
    admit(request, fields) {
      const call = callOf(fields)
      const found = usedUp(whoIn(fields), 'block', call.id)
      if (found === undefined) {
        ledger.reserve(call, priced(str(request['model']), expected(request)))
        return null
      }
      const { budget, payer } = found
      const { currency, timeZone } = settings()
      const isReserved = total(budget, payer, call.id).spent < budget.limit
      return refusal(budget, ledger.spent(payer, budget.period), currency, isReserved, timeZone)
    },
    routesDown: (fields) => usedUp(whoIn(fields), 'route_down', str(fields['api_request_id'])) !== undefined,
    settle: (call, model, usage) => ledger.settle(call, priced(model, usage)),
    warnings(who) {
      const { warnAt, currency } = settings()
      return concerning(who).flatMap(({ budget, payer }) => {
        const { per, period, unit, limit, action } = budget
        const spent = ledger.spent(payer, period)
        if (spent[unit] < warnAt * limit) return []
        if (!ledger.firstTime(`${payer} ${unit} ${limit} ${action}`, period)) return []
        const sentence = nearlyUsedUp(budget, spent, currency)
        log.warn({ payer, period, spent: spent[unit], limit, unit }, sentence)
        // What all chats come to is the business of who runs the gateway.
        return per === 'global' ? [] : [sentence]
      })
    },
    standing: (who) =>
      concerning(who).map(({ budget, payer }) => ({ budget, spent: ledger.spent(payer, budget.period) })),
  }
}

function payerOf(per: Budget['per'], name: string): string {
  return per === 'global' ? per : `${per}:${name}`
}

export function whoIn(fields: Fields): Who {
  const [platform, sender] = [str(fields['platform']), str(fields['sender_id'])]
  return { user: sender === '' ? '' : `${platform}:${sender}`, chat: str(fields['session_key']) }
}
