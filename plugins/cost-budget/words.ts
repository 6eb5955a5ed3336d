/**
 * What people read of budgets.
 */
import type { Spent } from './ledger.ts'
import type { Budget } from './settings.ts'

const whose = { user: 'Your', chat: 'The', global: 'The' } as const
const ofWhat = { user: 'budget', chat: 'budget of this chat', global: 'budget of all chats' } as const
const when = { day: 'today', month: 'this month' } as const
const anew = { day: 'tomorrow', month: 'next month' } as const

/** `Your budget for today` */
function nameOf({ per, period }: Budget): string {
  return `${whose[per]} ${ofWhat[per]} for ${when[period]}`
}

/** `1.20 of 2.00 USD` */
export function shareOf(budget: Budget, spent: Spent, currency: string): string {
  const { unit, limit } = budget
  if (unit === 'tokens') return `${spent.tokens.toLocaleString('en-US')} of ${limit.toLocaleString('en-US')} tokens`
  const digits = limit < 1 ? 4 : 2
  return `${spent.money.toFixed(digits)} of ${limit.toFixed(digits)} ${currency}`
}

export function refusal(budget: Budget, spent: Spent, currency: string, isReserved: boolean, timeZone: string): string {
  if (isReserved)
    return `${nameOf(budget)} has too little left for one more answer beside those under way. Ask again in a moment.`
  return `${nameOf(budget)} is used up: ${shareOf(budget, spent, currency)}. It begins anew ${anew[budget.period]} (${timeZone}).`
}

export function nearlyUsedUp(budget: Budget, spent: Spent, currency: string): string {
  return `${nameOf(budget)} is nearly used up: ${shareOf(budget, spent, currency)}.`
}

/** For the model, beside what the person wrote. */
export function toldByModel(sentences: readonly string[]): string {
  return `[Notice of the gateway: ${sentences.join(' ')} Say so in one sentence at the end of your answer.]`
}

const consequences = {
  warn: 'then you are told',
  block: 'then nothing more is answered',
  route_down: 'then a cheaper model answers',
} as const

/** @param who as `for` and `except` name them */
export function report(
  who: { readonly user: string; readonly chat: string },
  lines: readonly { readonly budget: Budget; readonly spent: Spent }[],
  currency: string,
  unpriced: readonly string[],
): string {
  const names = ['', `You are \`${who.user}\`, this chat is \`${who.chat}\`.`]
  if (lines.length === 0) return ['There is no budget here.', ...names].join('\n')
  const shown = lines.map(
    ({ budget, spent }) => `- ${nameOf(budget)}: ${shareOf(budget, spent, currency)}; ${consequences[budget.action]}`,
  )
  const doubt = unpriced.length === 0 ? [] : ['', `No price is known for ${unpriced.join(', ')}: it counts as free.`]
  return [...shown, ...doubt, ...names].join('\n')
}
