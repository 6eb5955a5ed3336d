/**
 * Decides which links of a reply are allowed: web and mail, but no scripts and no URLs of this page.
 */

const allowedSchemes = new Set(['http:', 'https:', 'mailto:'])
const embeddedImagePattern = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+$/

/**
 * The URL of a link, or `null` if it is not allowed. Relative URLs are not allowed, because they lead to the gateway.
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
 * The URL of an embedded image. Other images are not loaded, because the request would reveal that the reply was read.
 *
 * @param {string} href
 */
export function isEmbeddedImage(href) {
  return embeddedImagePattern.test(href)
}
