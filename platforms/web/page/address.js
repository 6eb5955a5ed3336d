/**
 * What the address of the page names: a chat of the page, a stored conversation to read, or a view of the dashboard.
 */

/** One chat unless the address names another: `/?chat=work`. @param {Pick<Location, 'search'>} location */
export function chatOf(location) {
  const named = new URLSearchParams(location.search).get('chat') ?? ''
  return isChat(named) ? named : 'main'
}

/** @param {string} id */
function isChat(id) {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id)
}

/** The stored conversation that is read: `/?session=…`. @param {Pick<Location, 'search'>} location */
export function sessionOf(location) {
  return new URLSearchParams(location.search).get('session')
}

/** The message whose way is shown: `/?trace=…`. @param {Pick<Location, 'search'>} location */
export function traceOf(location) {
  return new URLSearchParams(location.search).get('trace')
}

/** The view of the dashboard: `/?view=now`. @param {Pick<Location, 'search'>} location */
export function viewOf(location) {
  return new URLSearchParams(location.search).get('view')
}

/** @param {string} view @param {Record<string, string>} [params] */
export function addressOfView(view, params = {}) {
  return `/?${new URLSearchParams({ view, ...params })}`
}

/** @param {string} chat */
export function addressOfChat(chat) {
  return chat === 'main' ? '/' : `/?${new URLSearchParams({ chat })}`
}

/** A conversation that goes on in a chat of the page is opened there. @param {import('../protocol.ts').WireSession} session */
export function addressOf({ id, platform, chat_id, is_current }) {
  return platform === 'web' && is_current && chat_id !== null && isChat(chat_id)
    ? addressOfChat(chat_id)
    : `/?${new URLSearchParams({ session: id })}`
}

/** `crypto.randomUUID` is available only on secure origins. */
export function createId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
