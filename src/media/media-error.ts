/**
 * Why a file could not be had, in words for the person who sent it. Never holds an address: those may carry a token.
 */
export class MediaError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MediaError'
  }
}
