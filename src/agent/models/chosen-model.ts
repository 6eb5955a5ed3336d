/**
 * The model that answers in a turn.
 */
import type { Provider } from './provider.ts'

export interface ChosenModel {
  readonly provider: Provider
  readonly model: string
  /** The size of its window in tokens, unless it is `context_length`. */
  readonly contextLength?: number | undefined
}
