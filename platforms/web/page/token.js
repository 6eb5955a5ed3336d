/**
 * The token of the gateway: it arrives in the fragment of the address, which browsers never send to a server, and
 * leaves the address bar at once, so that it is in no history and no screenshot.
 */

const key = 'token'

/**
 * The token of this visit: from the address, or the one kept before.
 *
 * @param {Location} location
 * @param {History} history
 * @param {import('./storage.js').Store} storage
 * @returns {string | null}
 */
export function takeToken(location, history, storage) {
  if (location.hash.includes('token=')) {
    const token = readToken(location.hash)
    history.replaceState(history.state, '', location.pathname + location.search)
    if (token !== null) storage.set(key, token)
  }
  return storage.get(key)
}

/**
 * @param {string} token
 * @param {import('./storage.js').Store} storage
 */
export function keepToken(token, storage) {
  storage.set(key, token)
}

/** @param {import('./storage.js').Store} storage */
export function forgetToken(storage) {
  storage.remove(key)
}

/**
 * The token in what a person pasted: the whole address, its end, or the bare token. Null when there is none.
 *
 * @param {string} pasted
 * @returns {string | null}
 */
export function readToken(pasted) {
  const text = pasted.trim()
  const fragment = text.includes('#') ? text.slice(text.indexOf('#') + 1) : text
  const named = /(?:^|&)token=([^&\s]+)/.exec(fragment)?.[1]
  if (named !== undefined) return decoded(named)
  // What can stand in a header, and no address.
  return /^[A-Za-z0-9._~+/=-]{8,512}$/.test(text) && !text.includes('//') ? text : null
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
