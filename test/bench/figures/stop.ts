/**
 * The time from `/stop`, or from a message that interrupts, to the end of the turn: while a model writes, while a model is
 * silent and while a tool runs, with a real daemon over HTTP.
 */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { daemonFlags } from '../../kit/daemon-command.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import type { Figure, Row } from '../figure.ts'
import { killProcess, waitForLine } from '../kit/children.ts'
import { withHome } from '../kit/home.ts'
import { median } from '../kit/stats.ts'

const rounds = 7
const accepted = z.object({ seq: z.number() })
const ready = z.object({ url: z.string() })

export const stop: Figure = {
  name: 'stop',
  about: 'from /stop or a new message to the end of the turn, while a model or a tool runs',
  async measure({ progress }) {
    const model = await startOpenAiServer({
      record: true,
      defaultReply: ({ lastUserText }) =>
        lastUserText.startsWith('tool')
          ? { toolCalls: [{ name: 'terminal', arguments: { command: 'sleep 60' } }] }
          : lastUserText.startsWith('silent')
            ? { hang: 'headers' }
            : { text: 'Words that never end.', hang: 'stream', hangAfter: 2 },
    })
    const config = `model: test\nprovider: openai\nbase_url: ${model.baseUrl}\napi_key: none\nhttp: { port: 0 }\nauxiliary: { title_generation: { enabled: false } }\n`
    try {
      return await withHome(config, async (home) => {
        const daemon = spawn(
          process.execPath,
          [...daemonFlags, fileURLToPath(new URL('../../../src/main.mjs', import.meta.url)), 'gateway', 'run'],
          { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env['PATH'], HOME: home, HERMES_HOME: home } },
        )
        try {
          const { url } = ready.parse(JSON.parse(await waitForLine(daemon.stderr, '"event":"gateway.ready"')))
          await waitForLine(daemon.stderr, '"platform":"cli"')
          const token = (await readFile(join(home, 'gateway.token'), 'utf8')).trim()
          const times = new Map<string, number[]>()
          for (let round = 0; round < rounds; round++) {
            progress(`round ${round + 1} of ${rounds}`)
            for (const how of endings)
              for (const what of works) {
                const name = `${how} while ${what.during}`
                const ms = await endOne(url, token, { how, what: what.text, round }, () => model.requestCount)
                times.set(name, [...(times.get(name) ?? []), ms])
              }
          }
          return [...times].map(toRow)
        } finally {
          await killProcess(daemon)
        }
      })
    } finally {
      await model.stop()
    }
  },
}

const endings = ['/stop', 'a new message'] as const
const works = [
  { text: 'model', during: 'a model writes' },
  { text: 'silent', during: 'a model is silent' },
  { text: 'tool', during: 'a tool runs' },
] as const

/** Milliseconds from the request that ends the turn to the result of the turn. */
async function endOne(
  url: string,
  token: string,
  { how, what, round }: { readonly how: (typeof endings)[number]; readonly what: string; readonly round: number },
  asked: () => number,
): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const chat = `${what}-${how === '/stop' ? 'stop' : 'new'}-${round}`
  const say = async (text: string) => {
    const body = JSON.stringify({ chat, id: crypto.randomUUID(), text })
    const response = await fetch(`${url}/cli/messages`, { method: 'POST', headers, body })
    return accepted.parse(await response.json()).seq
  }
  const before = asked()
  const seq = await say(what)
  while (asked() === before) await new Promise((resolve) => setTimeout(resolve, 5))
  // The stream or the command must run before the measurement starts.
  await new Promise((resolve) => setTimeout(resolve, 300))
  const begun = performance.now()
  await say(how === '/stop' ? '/stop' : 'something else')
  await (await fetch(`${url}/cli/outcome?seq=${seq}`, { headers })).text()
  const ms = performance.now() - begun
  // The answer to the new message does not end by itself.
  if (how !== '/stop') await say('/stop')
  return ms
}

function toRow([name, times]: readonly [string, readonly number[]]): Row {
  return {
    name,
    measured: median(times),
    unit: 'ms',
    bar: 1_000,
    note: `longest ${Math.max(...times).toFixed(0)} ms`,
  }
}
