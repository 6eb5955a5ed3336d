/**
 * Errors that a handler raised in a host. When such an error reaches another handler of the same process, the handler
 * receives the object that was raised.
 */

/** The process and the number that it gave to the error. */
export interface RaisedErrorOrigin {
  readonly process: object
  readonly number: number
}

export class RaisedError extends Error {
  readonly #origin: RaisedErrorOrigin | undefined

  constructor(message: string, origin: RaisedErrorOrigin | undefined) {
    super(message)
    this.#origin = origin
  }

  /** The number of the error in this process; undefined if another process raised it. */
  numberIn(process: object): number | undefined {
    return this.#origin?.process === process ? this.#origin.number : undefined
  }
}
