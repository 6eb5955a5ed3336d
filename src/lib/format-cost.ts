/**
 * Shows what tokens have cost.
 */

export interface Spent {
  readonly tokens: number
  /** The tokens among them whose price is not known. */
  readonly unpricedTokens: number
  /** US dollars, of the others. */
  readonly cost: number
}

/** `$0.0042`, `unknown`, or `$0.0042 and the unknown price of 1,200 tokens`. */
export function formatCost({ tokens, unpricedTokens, cost }: Spent): string {
  if (unpricedTokens === 0) return formatDollars(cost)
  if (unpricedTokens >= tokens) return 'unknown'
  return `${formatDollars(cost)} and the unknown price of ${unpricedTokens.toLocaleString('en')} tokens`
}

function formatDollars(cost: number): string {
  if (cost === 0) return '$0'
  if (cost < 0.000_001) return 'less than $0.000001'
  const decimals = cost >= 0.1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(cost)))
  return `$${cost.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: decimals })}`
}
