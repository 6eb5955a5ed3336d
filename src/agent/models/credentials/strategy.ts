/**
 * The strategies by which a provider's credential is chosen (contract agent.md S6, seed 004).
 */
import type { Credential } from './credential.ts'

/** `fill_first` is the default: the prompt cache of a provider belongs to the account. */
export const strategies = ['fill_first', 'round_robin', 'least_used', 'random'] as const
export type Strategy = (typeof strategies)[number]

export interface Choice {
  readonly strategy: Strategy
  /** The ids of all credentials, also of those that rest, sorted by priority. */
  readonly order: readonly string[]
  /** The id of the credential that was chosen before; '' for none. */
  readonly previous: string
  /** Calls that are made with a credential now. */
  inUse(id: string): number
  /** From 0 to 1. */
  random(): number
}

/** @param usable sorted by priority */
export function chooseCredential(usable: readonly Credential[], choice: Choice): Credential | undefined {
  const [first] = usable
  if (first === undefined || usable.length === 1) return first
  switch (choice.strategy) {
    case 'fill_first':
      return first
    case 'round_robin':
      return afterPrevious(usable, choice) ?? first
    case 'random':
      return usable[Math.min(Math.floor(choice.random() * usable.length), usable.length - 1)]
    case 'least_used':
      return leastUsed(usable, choice)
  }
}

/** The next one in the order of priority. The previous one may rest, and keeps its place. */
function afterPrevious(usable: readonly Credential[], { order, previous }: Choice): Credential | undefined {
  const at = order.indexOf(previous)
  return usable.find(({ id }) => order.indexOf(id) > at) ?? usable[0]
}

function leastUsed(usable: readonly Credential[], { inUse }: Choice): Credential | undefined {
  const uses = ({ id, requestCount }: Credential) => requestCount + inUse(id)
  return usable.reduce((best, credential) => (uses(credential) < uses(best) ? credential : best))
}
