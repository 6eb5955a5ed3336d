/**
 * The token of the gateway. It is passed in the fragment of the URL, which browsers do not send to servers, and removed from
 * the address bar at once, so that it does not appear in the history or in screenshots.
 */

const key = 'token'

/**
 * The token from the URL, otherwise the stored one.
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
 * Finds the token in a pasted text: the URL, its end, or the token itself. `null` if there is none.
 *
 * @param {string} pasted
 * @returns {string | null}
 */
export function readToken(pasted) {
  const text = pasted.trim()
  const fragment = text.includes('#') ? text.slice(text.indexOf('#') + 1) : text
  const named = /(?:^|&)token=([^&\s]+)/.exec(fragment)?.[1]
  if (named !== undefined) return decoded(named)
  // Characters that are valid in a header, but not a URL.
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
