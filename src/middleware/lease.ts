/**
 * The right to run the rest of a call, as long as the intercept that got it has not settled.
 */
import type { Branch } from './branch.ts'

export class Lease {
  readonly #branch: Branch
  readonly #refusal: () => unknown
  #ended = false
  /** What runs: how to reject it, and its way. */
  #running: { readonly way: Branch; readonly reject: (error: unknown) => void }[] = []

  constructor(branch: Branch, refusal: () => unknown) {
    this.#branch = branch
    this.#refusal = refusal
  }

  /** Runs the work on a way of its own. Rejects with the refusal when the lease ends first, or has ended. */
  run<Value>(work: (way: Branch) => Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#ended || this.#branch.ended) {
        reject(this.#refusal())
        return
      }
      const way = this.#branch.open()
      const running = { way, reject }
      this.#running.push(running)
      const done = () => {
        this.#branch.close(way)
        const at = this.#running.indexOf(running)
        if (at >= 0) this.#running.splice(at, 1)
      }
      work(way).then(
        (value) => {
          done()
          resolve(value)
        },
        (error) => {
          done()
          reject(error)
        },
      )
    })
  }

  /** Calls off what still runs. May be called twice. */
  end(): void {
    this.#ended = true
    for (const { way, reject } of this.#running.splice(0)) {
      const refusal = this.#refusal()
      reject(refusal)
      way.abort(refusal)
      this.#branch.close(way)
    }
  }
}
