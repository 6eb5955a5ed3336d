/**
 * Why a file could not be downloaded: a code, and a text for users. The text never contains a URL, because URLs may contain
 * tokens.
 */
export type MediaErrorCode =
  | 'address-failed'
  | 'credentials-rejected'
  | 'http-status'
  | 'invalid-url'
  | 'no-address'
  | 'not-connected'
  | 'not-offered'
  | 'timeout'
  | 'too-large'
  | 'too-many-redirects'
  | 'unreachable'
  | 'url-not-allowed'

export class MediaError extends Error {
  readonly code: MediaErrorCode

  constructor(code: MediaErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MediaError'
    this.code = code
  }
}
