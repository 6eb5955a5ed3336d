/**
 * The number of source files that one message runs: those with a function that is called between the arrival of a warm
 * message and its reply, according to the precise coverage of V8. A reader who follows a message opens these files. What
 * timers also call while no message arrives does not count.
 */
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { withEditor } from '../kit/editor.ts'
import { type BenchGateway, type GatewaySettings, withGateway } from '../kit/gateway.ts'
import { withModel } from '../kit/model.ts'
import { type BenchVendor, platformsConfig, platformsSection, withVendor } from '../kit/vendor.ts'

const warmTurns = 6

const plain = { text: 'Here is an answer of ten short words for you' }
const command = (line: string) => ({ toolCalls: [{ name: 'terminal', arguments: { command: line } }] })
const ended = { text: 'The command has ended.' }

/** Paths from the root of the project. */
const filesSchema = z.array(z.string())

export const files: Figure = {
  name: 'files',
  about:
    'source files run by a message, without and with a tool call, by an approval, an event, a job and an editor; --list prints them',
  async measure(options) {
    const message = { bar: 75, replies: [plain], arrival: arriveAt(platformsConfig, [undefined]) }
    const toolCall = { bar: 95, replies: [command('true'), ended], arrival: arriveAt(platformsConfig, [undefined]) }
    const approval = {
      bar: 105,
      replies: [command("rm -r 'build'"), ended],
      arrival: arriveAt(ofOwner, ['build it', '/approve']),
    }
    const other = { bar: 105, replies: [plain] }
    return [
      await measured('a plain message', message, options),
      await measured('a message with a tool call', toolCall, options),
      await measured('a command that its owner approves', approval, options),
      await measured('an event of another service', { ...other, arrival: eventsArrive }, options),
      await measured('a scheduled job', { ...other, arrival: jobsRun }, options),
      await measured('a prompt of an editor', { ...other, arrival: editorPrompts }, options),
    ]
  },
}

/** Lets something arrive as often as it is told, one after another, and resolves when all are answered. */
type Arrive = (times: number) => Promise<void>

/** Runs `work` with a gateway and with what arrives there. */
type Arrival = (
  open: (settings: Pick<GatewaySettings, 'config'>, work: (gateway: BenchGateway) => Promise<Row>) => Promise<Row>,
  work: (gateway: BenchGateway, arrive: Arrive) => Promise<Row>,
) => Promise<Row>

interface Case {
  readonly bar: number
  /** The responses of the model in each turn. */
  readonly replies: readonly object[]
  readonly arrival: Arrival
}

function measured(what: string, { bar, replies, arrival }: Case, { list, progress }: BenchOptions): Promise<Row> {
  const name = `source files run by ${what}`
  const script = Array.from({ length: warmTurns + 1 }, () => replies).flat()
  return withModel({ record: false, replies: script }, (model) =>
    arrival(
      (settings, work) => withGateway({ ...settings, modelUrl: model.baseUrl, shipped: true }, work),
      async (gateway, arrive) => {
        const used = await filesOfOne(gateway, arrive)
        if (list) progress(`${name}\n${used.join('\n')}`)
        const plugins = used.filter((file) => file.startsWith('src/plugins/')).length
        return { name, measured: used.length, unit: 'files', bar, note: `${plugins} of them in src/plugins` }
      },
    ),
  )
}

async function filesOfOne(gateway: BenchGateway, arrive: Arrive): Promise<string[]> {
  // The measured message belongs to the same session: the first message of a session also builds its system prompt.
  await arrive(warmTurns)
  await gateway.request('coverage:begin', {}, z.unknown())
  // Longer than the interval at which the files of the configuration are compared.
  await sleep(1_000)
  await gateway.request('coverage:idle', {}, z.unknown())
  await arrive(1)
  // The receipt of the reply arrives during this delay.
  await sleep(500)
  return await gateway.request('coverage:end', {}, filesSchema)
}

/** Messages in Telegram. @param texts each is sent when a message of the bot has answered the one before */
function arriveAt(
  configOf: (vendors: readonly BenchVendor[]) => string,
  texts: readonly (string | undefined)[],
): Arrival {
  return (open, work) =>
    withVendor('telegram', (vendor) =>
      open({ config: configOf([vendor]) }, (gateway) =>
        work(gateway, async (times) => {
          // After a question, and after its answer, the turn goes on.
          const pauseMs = texts.length > 1 ? 1_000 : 50
          for (let done = 0; done < times; done += 1)
            for (const text of texts) await vendor.load({ chats: 1, turns: 1, pauseMs, isContinued: true, text })
        }),
      ),
    )
}

/** The first person of the vendor is the owner. */
function ofOwner(vendors: readonly BenchVendor[]): string {
  const sections = vendors.map(({ name, options }) => [name, { enabled: true, allow_from: ['1001'], ...options }])
  return `${platformsSection(Object.fromEntries(sections))}terminal: { sandbox: off }\n`
}

const secret = 'a-secret-of-the-sender'

const eventsArrive: Arrival = (open, work) =>
  open(
    { config: `platforms:\n  webhook: { enabled: true, secret: ${secret}, routes: { ci: { prompt: "{title}" } } }\n` },
    async (gateway) => {
      const { url } = await gateway.address()
      let sent = 0
      return await work(gateway, (times) =>
        eachTurn(gateway, times, async () => {
          sent += 1
          const body = JSON.stringify({ title: `The build ${sent} is broken` })
          const signature = createHmac('sha256', secret).update(body).digest('hex')
          const headers = { 'x-github-delivery': String(sent), 'x-hub-signature-256': `sha256=${signature}` }
          await post(`${url}/webhooks/ci`, body, { 'x-github-event': 'push', ...headers })
        }),
      )
    },
  )

const jobsRun: Arrival = (open, work) =>
  open({ config: 'platforms: { direct: { enabled: true } }\n' }, async (gateway) => {
    const { url, token } = await gateway.address()
    const change = (action: object) =>
      post(`${url}/api/jobs`, JSON.stringify(action), { authorization: `Bearer ${token}` })
    const created = await change({
      action: 'create',
      prompt: 'Look at the backups.',
      schedule: 'every 600m',
      deliver: 'local',
    })
    const { jobs } = z.object({ jobs: z.array(z.object({ id: z.string() })) }).parse(created)
    return await work(gateway, (times) =>
      eachTurn(gateway, times, () => change({ action: 'run', job_id: jobs[0]?.id })),
    )
  })

const editorPrompts: Arrival = (open, work) =>
  open({ config: '' }, (gateway) =>
    withEditor(gateway.home, (prompt) =>
      work(gateway, async (times) => {
        for (let done = 0; done < times; done += 1) await prompt('Look at this file.')
      }),
    ),
  )

async function post(url: string, body: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`)
  return text.startsWith('{') ? JSON.parse(text) : text
}

/** Begins one turn after another, and waits for the end of each. */
async function eachTurn({ home }: BenchGateway, times: number, begin: () => Promise<unknown>): Promise<void> {
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
  const ended = db.prepare("select count(*) as count from turns where state not in ('running', 'waiting')")
  const count = () => Number(ended.get()?.['count'])
  try {
    for (let done = 0; done < times; done += 1) {
      const before = count()
      await begin()
      const deadline = performance.now() + 20_000
      while (count() === before) {
        if (performance.now() > deadline) throw new Error('a turn did not end within 20 s')
        await sleep(20)
      }
      // What follows the turn, such as the end of its job.
      await sleep(300)
    }
  } finally {
    db.close()
  }
}
