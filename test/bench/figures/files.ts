/**
 * The number of source files that one message runs: those with a function that is called between the arrival of a warm
 * message and its reply, according to the precise coverage of V8. A reader who follows a message opens these files. What
 * timers also call while no message arrives does not count.
 */
import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { withModel } from '../kit/model.ts'
import { type BenchVendor, platformsConfig, withVendor } from '../kit/vendor.ts'

const warmTurns = 6

const plain = { text: 'Here is an answer of ten short words for you' }
const withTool = [
  { toolCalls: [{ name: 'terminal', arguments: { command: 'true' } }] },
  { text: 'The command has ended.' },
]

/** Paths from the root of the project. */
const filesSchema = z.array(z.string())

export const files: Figure = {
  name: 'files',
  about: 'source files run by one Telegram message, without and with a tool call; --list prints them',
  async measure(options) {
    return [
      await measured({ name: 'source files run by a plain message', bar: 90, replies: [plain] }, options),
      await measured({ name: 'source files run by a message with a tool call', bar: 120, replies: withTool }, options),
    ]
  },
}

interface Case {
  readonly name: string
  readonly bar: number
  /** The responses of the model in each turn. */
  readonly replies: readonly object[]
}

function measured({ name, bar, replies }: Case, { list, progress }: BenchOptions): Promise<Row> {
  const script = Array.from({ length: warmTurns + 1 }, () => replies).flat()
  return withModel({ record: false, replies: script }, (model) =>
    withVendor('telegram', (vendor) =>
      withGateway({ config: platformsConfig([vendor]), modelUrl: model.baseUrl, shipped: true }, async (gateway) => {
        const used = await filesOfOneMessage(gateway, vendor)
        if (list) progress(`${name}\n${used.join('\n')}`)
        const plugins = used.filter((file) => file.startsWith('src/plugins/')).length
        return { name, measured: used.length, unit: 'files', bar, note: `${plugins} of them in src/plugins` }
      }),
    ),
  )
}

async function filesOfOneMessage(gateway: BenchGateway, vendor: BenchVendor): Promise<string[]> {
  // The measured message belongs to the same session: the first message of a session also builds its system prompt.
  await vendor.load({ chats: 1, turns: warmTurns, pauseMs: 50, isContinued: true })
  await gateway.request('coverage:begin', {}, z.unknown())
  // Longer than the interval at which the files of the configuration are compared.
  await setTimeout(1_000)
  await gateway.request('coverage:idle', {}, z.unknown())
  // The receipt of the reply arrives during this delay.
  await vendor.load({ chats: 1, turns: 1, pauseMs: 500 })
  return await gateway.request('coverage:end', {}, filesSchema)
}
