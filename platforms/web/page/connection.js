/**
 * Reads a stream of JSON lines, and reopens it after its last entry when it breaks: that of the chat, or the changes for the dashboard.
 */
import { ApiError } from './api.js'

/**
 * `open`: all missed entries have arrived. `waiting`: disconnected until the next attempt.
 * `refused`: the token is invalid; there are no further attempts.
 *
 * @typedef {'connecting' | 'open' | 'waiting' | 'refused'} ConnectionState
 */

/** The gateway sends a ping every 15 s. A stream without data for this long is dead. */
const silenceMs = 40_000
const firstPauseMs = 400
const longestPauseMs = 8_000

/**
 * @template Event of the `type` `ready` once all missed entries have arrived
 * @param {object} options
 * @param {import('./api.js').Api['stream']} options.stream
 * @param {() => string | undefined} options.after the last entry that is known
 * @param {() => void} options.onBegin a new stream begins: what was live is doubtful until `ready`
 * @param {(event: Event) => void} options.onEvent
 * @param {(state: ConnectionState, reason: string) => void} options.onState
 * @returns {{ start: () => void, retryNow: () => void, stop: () => void }}
 */
export function createConnection({ stream, after, onBegin, onEvent, onState }) {
  let attempt = 0
  let stopped = false
  let current = new AbortController()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let watchdog

  return {
    start: () => void run(),
    retryNow() {
      if (pause === undefined) return
      clearTimeout(pause)
      pause = undefined
      void run()
    },
    stop() {
      stopped = true
      clearTimeout(pause)
      clearTimeout(watchdog)
      current.abort()
    },
  }

  async function run() {
    current = new AbortController()
    onState('connecting', '')
    let reason = ''
    try {
      watch()
      const body = await stream(after(), current.signal)
      onBegin()
      await read(body)
    } catch (error) {
      if (error instanceof ApiError && error.unauthorised) {
        stopped = true
        onState('refused', error.message)
      }
      reason = error instanceof ApiError ? error.message : ''
    }
    clearTimeout(watchdog)
    if (!stopped) wait(reason)
  }

  /** @param {ReadableStream<Uint8Array<ArrayBuffer>>} body */
  async function read(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done || stopped) return
      watch()
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(line)
    }
  }

  /** @param {string} line */
  function take(line) {
    if (line === '') return
    const event = JSON.parse(line)
    onEvent(event)
    if (event.type !== 'ready') return
    attempt = 0
    onState('open', '')
  }

  function watch() {
    clearTimeout(watchdog)
    const guarded = current
    watchdog = setTimeout(() => guarded.abort(), silenceMs)
  }

  /**
   * The delay grows and has a random part, so that pages do not reconnect at the same time.
   *
   * @param {string} reason
   */
  function wait(reason) {
    attempt += 1
    onState('waiting', reason)
    const ceiling = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1))
    pause = setTimeout(
      () => {
        pause = undefined
        void run()
      },
      ceiling * (0.5 + Math.random() / 2),
    )
  }
}
