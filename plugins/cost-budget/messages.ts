/**
 * Texts about budgets for users.
 */
import type { Spending } from './ledger.ts'
import type { Budget } from './settings.ts'

const possessives = { user: 'Your', chat: 'The', global: 'The', turn: 'The' } as const
const budgetLabels = {
  user: 'budget',
  chat: 'budget of this chat',
  global: 'budget of all chats',
  turn: 'budget',
} as const
const periodLabels = { day: 'today', month: 'this month', turn: 'this turn' } as const
const nextPeriodLabels = { day: 'tomorrow', month: 'next month' } as const

/** `Your budget for today` */
export function budgetNameOf({ per, period }: Pick<Budget, 'per' | 'period'>): string {
  return `${possessives[per]} ${budgetLabels[per]} for ${periodLabels[period]}`
}

/** `1.20 of 2.00 USD` */
export function formatSpending(budget: Budget, spent: Spending, currency: string): string {
  const { unit, limit } = budget
  if (unit === 'tokens') return `${spent.tokens.toLocaleString('en-US')} of ${limit.toLocaleString('en-US')} tokens`
  const digits = limit < 1 ? 4 : 2
  return `${spent.money.toFixed(digits)} of ${limit.toFixed(digits)} ${currency}`
}

export function budgetExhaustedMessage(
  budget: Budget,
  spent: Spending,
  currency: string,
  isReserved: boolean,
  timeZone: string,
): string {
  if (isReserved)
    return `${budgetNameOf(budget)} has too little left for another response while others are running. Try again in a moment.`
  if (budget.period === 'turn')
    return `${budgetNameOf(budget)} is used up: ${formatSpending(budget, spent, currency)}. Write again to go on.`
  return `${budgetNameOf(budget)} is used up: ${formatSpending(budget, spent, currency)}. The next period starts ${nextPeriodLabels[budget.period]} (${timeZone}).`
}

export function budgetWarningMessage(budget: Budget, spent: Spending, currency: string): string {
  return `${budgetNameOf(budget)} is nearly used up: ${formatSpending(budget, spent, currency)}.`
}

/** Added to the user's message for the model. */
export function noticeForModel(sentences: readonly string[]): string {
  return `[Notice of the gateway: ${sentences.join(' ')} Mention this in one sentence at the end of your response.]`
}

const actionDescriptions = {
  warn: 'then you are notified',
  block: 'then further requests are blocked',
  route_down: 'then a cheaper model is used',
} as const

/** @param subject the keys for `for` and `except` */
export function formatBudgetReport(
  subject: { readonly user: string; readonly chat: string },
  lines: readonly { readonly budget: Budget; readonly spent: Spending }[],
  currency: string,
  unpriced: readonly string[],
): string {
  const names = ['', `You are \`${subject.user}\`, this chat is \`${subject.chat}\`.`]
  if (lines.length === 0) return ['No budget applies to you.', ...names].join('\n')
  const shown = lines.map(
    ({ budget, spent }) =>
      `- ${budget.per === 'turn' ? 'The budget of each turn' : budgetNameOf(budget)}: ${formatSpending(budget, spent, currency)}; ${actionDescriptions[budget.action]}`,
  )
  const unpricedNotice = unpriced.length === 0 ? [] : ['', `${unpriced.join(', ')} has no price and counts as free.`]
  return [...shown, ...unpricedNotice, ...names].join('\n')
}
