/**
 * The promise about load: at 50 messages per second over 200 conversations nothing is lost, and each conversation is answered in
 * order, for as long as the load lasts.
 */
import { join } from 'node:path'
import { withGateway } from '../bench/kit/gateway.ts'
import { type Account, accountFor, rateConfig, sendAtRate } from '../bench/kit/rate.ts'
import { median, quantile } from '../bench/kit/stats.ts'

export interface LoadResult extends Account {
  readonly sent: number
  readonly seconds: number
  /** ms */
  readonly p50: number
  readonly p99: number
}

export function proveLoad(seconds: number, progress: (line: string) => void): Promise<LoadResult> {
  return withGateway({ config: rateConfig }, async (gateway) => {
    const answered: number[] = []
    let sent = 0
    let ms = 0
    for (let left = seconds; left > 0; left -= 30) {
      const load = { run: 'load', conversations: 200, perSecond: 50, seconds: Math.min(30, left), flood: 0 }
      const done = await sendAtRate(gateway, load)
      for (const time of done.answered) answered.push(time)
      sent += done.sent
      ms += done.ms
      progress(`${sent} messages answered`)
    }
    const account = accountFor(join(gateway.home, 'state.db'))
    return { ...account, sent, seconds: ms / 1_000, p50: median(answered), p99: quantile(answered, 0.99) }
  })
}

export function keepsLoad({ sent, accepted, lost, outOfOrder }: LoadResult): boolean {
  return sent === accepted && lost === 0 && outOfOrder === 0
}
