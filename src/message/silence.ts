/**
 * Detects `[SILENT]`, the reply of an agent that has nothing to report (contract §3.11).
 */

/** Includes Chinese forms, because some models translate the token. */
const silenceToken = /^\s*(?:\[\s*(?:silent|静默|沉默)\s*\]|silent|no(?:_|\s+)reply|静默|沉默)\s*$/i

/**
 * Whether a reply consists only of the token. Used for turns that the gateway starts; a user who wrote a message receives
 * the token, because no reply would look like a lost one.
 */
export function isSilence(text: string): boolean {
  return silenceToken.test(text)
}
