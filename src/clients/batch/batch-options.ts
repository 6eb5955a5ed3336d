/**
 * The options of `hermes batch run`.
 */
export interface BatchOptions {
  /** The file of results. */
  readonly out: string
  /** How many prompts are asked at once. */
  readonly concurrency: number
  /** Names separated by commas, for prompts without their own. */
  readonly toolsets?: string
  /** Added to the system prompt of prompts without their own. */
  readonly system?: string
  /** The file of trajectories. */
  readonly trajectories?: string
  /** Only the first prompts. */
  readonly limit?: number
  /** Asks prompts again that have failed. */
  readonly retryFailed: boolean
  /** Asks prompts again that were changed since they were answered. */
  readonly rerunChanged: boolean
  /** A broken line ends the batch before anything is sent. */
  readonly strict: boolean
  readonly json: boolean
}
