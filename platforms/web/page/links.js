/**
 * Where a link in a reply may lead: to the web or to a mailbox, never into this page and never to a script.
 */

const allowedSchemes = new Set(['http:', 'https:', 'mailto:'])
const embeddedImagePattern = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+$/

/**
 * The address to use, or null where it is none to follow. Relative ones are none: they would lead into the gateway.
 *
 * @param {string} href
 * @returns {string | null}
 */
export function safeUrl(href) {
  if (!URL.canParse(href)) return null
  const url = new URL(href)
  return allowedSchemes.has(url.protocol) ? url.href : null
}

/**
 * A picture that carries its own bytes. Others are not loaded: that would tell a stranger that the reply was read.
 *
 * @param {string} href
 */
export function isEmbeddedImage(href) {
  return embeddedImagePattern.test(href)
}
