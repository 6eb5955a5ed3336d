/**
 * The model calls that run now. Finds those that hang while turns wait for them: all concurrent turns are in use, and so many calls
 * have no output.
 */
import type { JsonObject } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'

export interface ModelCallMonitor {
  /** The calls that go on, each as a function that returns the time since its last output. Providers add and delete them. */
  readonly calls: Set<() => number>
  /** Providers report every call that ends to them. None may throw or wait. */
  readonly observers: Set<ModelCallObserver>
  /** A turn must wait because `limit` turns run. Cheap; may be called repeatedly. `isSaturated`: whether it still does. */
  turnMustWait(limit: number, isSaturated: () => boolean): void
  /** The number of calls that hang; 0 while other turns can run. */
  blockingCalls(): number
  readonly pictureRefusals: PictureRefusals
}

export interface ModelCallEnd {
  /** `ok`, `aborted`, or the kind of the `ModelError`. */
  readonly result: string
  /** The response as the vendor sends it. A call that failed has none. */
  readonly response?: JsonObject
}

export type ModelCallObserver = (
  report: ModelCallEnd & { readonly provider: string; readonly model: string; readonly ms: number },
) => void

/** Models that have refused pictures, although their names say that they see. Forgotten by a restart. */
export interface PictureRefusals {
  has(baseUrl: string, model: string): boolean
  add(baseUrl: string, model: string): void
}

/** What a provider reports of its calls. */
export type ProviderMonitor = Pick<ModelCallMonitor, 'calls'> &
  Partial<Pick<ModelCallMonitor, 'observers' | 'pictureRefusals'>>

/** A call without output for longer than this hangs. */
const hangingMs = 60_000

export function createModelCallMonitor({ log }: { readonly log: Logger }): ModelCallMonitor {
  const calls = new Set<() => number>()
  const refusals = new Set<string>()
  let saturation: { readonly limit: number; readonly isSaturated: () => boolean } | undefined
  let isScheduled = false
  let isReported = false

  function blockingCalls(): number {
    if (saturation?.isSaturated() !== true) return 0
    const count = [...calls].filter((idleMs) => idleMs() > hangingMs).length
    return count >= saturation.limit ? count : 0
  }

  /** Runs only while turns wait, so that an idle gateway has no timer. */
  function check(): void {
    isScheduled = false
    const count = blockingCalls()
    if (count > 0 && !isReported)
      log.warn(
        { event: 'model.calls_hang', calls: count },
        'hung model calls occupy all concurrent turns; other turns wait',
      )
    isReported = count > 0
    if (saturation?.isSaturated() === true) schedule()
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(check, hangingMs).unref()
  }

  return {
    calls,
    observers: new Set(),
    turnMustWait(limit, isSaturated) {
      saturation = { limit, isSaturated }
      schedule()
    },
    blockingCalls,
    pictureRefusals: {
      has: (baseUrl, model) => refusals.has(`${baseUrl} ${model}`),
      add(baseUrl, model) {
        if (refusals.has(`${baseUrl} ${model}`)) return
        refusals.add(`${baseUrl} ${model}`)
        log.warn(
          { event: 'model.pictures_refused', model },
          'the provider refuses pictures for a model; it is shown none until the next start',
        )
      },
    },
  }
}
