/**
 * Why a file could not be downloaded, as a text for users. It never contains a URL, because URLs may contain tokens.
 */
export class MediaError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MediaError'
  }
}
