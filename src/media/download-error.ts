/**
 * Why a file could not be downloaded: a code, and a text for users. The text never contains a URL, because URLs may contain
 * tokens.
 */
export type DownloadErrorCode =
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

export class DownloadError extends Error {
  readonly code: DownloadErrorCode

  constructor(code: DownloadErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DownloadError'
    this.code = code
  }
}
