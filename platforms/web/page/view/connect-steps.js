/**
 * What the steps that connect a chat share.
 */

/**
 * @typedef {object} Steps
 * @property {Pick<import('../api.js').Api, 'request' | 'pairingRequests' | 'approvePerson' | 'denyPerson'>} api
 * @property {HTMLFormElement} form
 * @property {ReturnType<typeof import('./attempts.js').createAttempts>} attempt
 * @property {(heading: string, content: readonly Node[], buttons: readonly HTMLButtonElement[], submit?: () => void) => AbortSignal} show
 *   replaces the step; the signal aborts when the next one is shown
 * @property {() => void} close
 */

/** For people. @param {import('../../protocol.ts').WirePlatform} platform */
export function stateOf({ is_set, state, reason }) {
  if (!is_set) return 'not connected'
  if (state === 'connected') return 'connected'
  return state === 'failed' ? (reason ?? 'not connected') : 'connecting'
}
