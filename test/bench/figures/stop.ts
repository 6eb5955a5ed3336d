/**
 * The time from `/stop` to the end of the turn, while a model streams and while a tool runs, with a real daemon over
 * HTTP.
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
  about: 'from /stop to the end of the turn, while a model or a tool runs',
  async measure({ progress }) {
    const model = await startOpenAiServer({
      record: true,
      defaultReply: ({ lastUserText }) =>
        lastUserText.startsWith('tool')
          ? { toolCalls: [{ name: 'terminal', arguments: { command: 'sleep 60' } }] }
          : { text: 'Words that never end.', hang: 'stream', hangAfter: 2 },
    })
    const config = `model: test\nprovider: openai\nbase_url: ${model.baseUrl}\napi_key: none\nhttp: { port: 0 }\n`
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
          const times = { model: [] as number[], tool: [] as number[] }
          for (let round = 0; round < rounds; round++) {
            progress(`round ${round + 1} of ${rounds}`)
            for (const what of ['model', 'tool'] as const)
              times[what].push(await stopOne(url, token, what, round, () => model.requestCount))
          }
          return rowsOf(times)
        } finally {
          await killProcess(daemon)
        }
      })
    } finally {
      await model.stop()
    }
  },
}

/** Milliseconds from the `/stop` request to the result of the turn. */
async function stopOne(
  url: string,
  token: string,
  what: 'model' | 'tool',
  round: number,
  asked: () => number,
): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const chat = `${what}${round}`
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
  await say('/stop')
  await (await fetch(`${url}/cli/outcome?seq=${seq}`, { headers })).text()
  return performance.now() - begun
}

function rowsOf(times: { model: readonly number[]; tool: readonly number[] }): Row[] {
  return [
    {
      name: '/stop while a model writes',
      measured: median(times.model),
      unit: 'ms',
      bar: 1_000,
      note: `longest ${Math.max(...times.model).toFixed(0)} ms`,
    },
    {
      name: '/stop while a tool runs',
      measured: median(times.tool),
      unit: 'ms',
      bar: 1_000,
      note: `longest ${Math.max(...times.tool).toFixed(0)} ms`,
    },
  ]
}
