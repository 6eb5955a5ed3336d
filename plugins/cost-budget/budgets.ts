/**
 * Checks model calls against the budgets and records their costs.
 */
import { asString, type Fields, type Logger, type Usage } from '#sdk'
import type { Call, Ledger, Spending } from './ledger.ts'
import { budgetExhaustedMessage, budgetWarningMessage } from './messages.ts'
import { costOf } from './prices.ts'
import type { Budget, BudgetSettings } from './settings.ts'
import { estimateUsage } from './stream-meter.ts'

export interface Budgets {
  /** Reserves the estimated cost of a call and returns null, or returns the reason for blocking the call. */
  admit(request: Fields, fields: Fields): string | null
  /** Whether the call must use the cheap model. */
  shouldRouteDown(fields: Fields): boolean
  callOf(fields: Fields): Call
  estimateUsage(request: Fields): Usage
  recordUsage(call: Call, model: string, usage: Usage): void
  /** New warnings, one sentence each. Each is returned once per period. */
  warnings(subject: BudgetSubject): string[]
  /** The budgets that apply to a subject, with the amounts spent. */
  spendingPerBudget(subject: BudgetSubject): { readonly budget: Budget; readonly spent: Spending }[]
  /** Used models without a price. */
  unpriced(): readonly string[]
}

export interface BudgetSubject {
  /** `<platform>:<id>`; '' without a user. */
  readonly user: string
  /** The key of the session; '' if unknown. */
  readonly chat: string
  /** The id of the turn, also for its sub-agents; '' outside of turns. */
  readonly turn: string
}

export function createBudgets(settings: () => BudgetSettings, ledger: Ledger, log: Logger): Budgets {
  const unpriced = new Set<string>()

  const toSpending = (model: string, usage: Usage): Spending => {
    const price = settings().prices.find(model)
    if (price === undefined && !unpriced.has(model) && settings().budgets.some(({ unit }) => unit === 'money')) {
      unpriced.add(model)
      log.warn(
        { event: 'cost_budget.price_missing', model },
        'a model has no price; its calls count as free (settings.prices)',
      )
    }
    const tokens = usage.inputTokens + usage.outputTokens
    return { money: price === undefined ? 0 : costOf(usage, price), tokens }
  }

  /** The budgets that apply to a subject, with the payer in the ledger. */
  function budgetsFor(subject: BudgetSubject): { readonly budget: Budget; readonly payer: string }[] {
    return settings().budgets.flatMap((budget) => {
      const { per, only, except } = budget
      const name = per === 'global' ? '' : subject[per]
      if (per !== 'global' && name === '') return []
      if (except.has(name) || (only.size > 0 && !only.has(name))) return []
      return [{ budget, payer: payerOf(per, name) }]
    })
  }

  function total({ unit, period }: Budget, payer: string, except: string) {
    const [spent, reserved] = [ledger.spent(payer, period)[unit], ledger.reserved(payer, except)[unit]]
    return { spent, withReserved: spent + reserved }
  }

  const findExhausted = (subject: BudgetSubject, action: Budget['action'], id: string) =>
    budgetsFor(subject).find(
      ({ budget, payer }) => budget.action === action && total(budget, payer, id).withReserved >= budget.limit,
    )

  function callOf(fields: Fields): Call {
    const kinds = new Set(settings().budgets.map(({ per }) => per))
    const { user, chat, turn } = subjectOf(fields)
    const payers = [
      payerOf('global', ''),
      ...(kinds.has('user') && user !== '' ? [payerOf('user', user)] : []),
      ...(kinds.has('chat') && chat !== '' ? [payerOf('chat', chat)] : []),
      ...(kinds.has('turn') && turn !== '' ? [payerOf('turn', turn)] : []),
    ]
    return { id: asString(fields['api_request_id']), turnId: asString(fields['turn_id']), payers }
  }

  const estimate = (request: Fields) => estimateUsage(request, settings().expectedOutputTokens)

  return {
    callOf,
    estimateUsage: estimate,
    unpriced: () => [...unpriced],
    admit(request, fields) {
      const call = callOf(fields)
      const exhaustedBudget = findExhausted(subjectOf(fields), 'block', call.id)
      if (exhaustedBudget === undefined) {
        ledger.reserve(call, toSpending(asString(request['model']), estimate(request)))
        return null
      }
      const { budget, payer } = exhaustedBudget
      const { currency, timeZone } = settings()
      const isReserved = total(budget, payer, call.id).spent < budget.limit
      return budgetExhaustedMessage(budget, ledger.spent(payer, budget.period), currency, isReserved, timeZone)
    },
    shouldRouteDown: (fields) =>
      findExhausted(subjectOf(fields), 'route_down', asString(fields['api_request_id'])) !== undefined,
    recordUsage: (call, model, usage) => ledger.recordCall(call, toSpending(model, usage)),
    warnings(subject) {
      const { warnAt, currency } = settings()
      return budgetsFor(subject).flatMap(({ budget, payer }) => {
        const { per, period, unit, limit, action } = budget
        const spent = ledger.spent(payer, period)
        if (spent[unit] < warnAt * limit) return []
        if (!ledger.markOnce(`${payer} ${unit} ${limit} ${action}`, period)) return []
        const sentence = budgetWarningMessage(budget, spent, currency)
        log.warn({ event: 'cost_budget.nearly_exhausted', payer, period, spent: spent[unit], limit, unit }, sentence)
        // Only the operator is notified of the budget of all chats.
        return per === 'global' ? [] : [sentence]
      })
    },
    spendingPerBudget: (subject) =>
      budgetsFor(subject).map(({ budget, payer }) => ({ budget, spent: ledger.spent(payer, budget.period) })),
  }
}

function payerOf(per: Budget['per'], name: string): string {
  return per === 'global' ? per : `${per}:${name}`
}

/** A turn in the background, and one of a sub-agent, is charged to the person who caused it. */
export function subjectOf(fields: Fields): BudgetSubject {
  const [platform, sender] = [asString(fields['platform']), asString(fields['sender_id'])]
  const user = sender === '' ? '' : `${platform}:${sender}`
  return {
    user: asString(fields['caused_by']) || user,
    chat: asString(fields['session_key']),
    turn: asString(fields['root_turn_id']) || asString(fields['turn_id']),
  }
}
