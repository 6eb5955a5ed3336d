/**
 * `hermes acp`: from the start of the process to the answer to `initialize`, for which an editor waits.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from '../figure.ts'
import { withHome } from '../kit/home.ts'
import { median } from '../kit/stats.ts'

const main = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: 1, clientCapabilities: {} },
}
const timeoutMs = 20_000

export const acp: Figure = {
  name: 'acp',
  about: 'start of `hermes acp` to its first answer, compared with a bare node',
  measure: ({ full }) =>
    withHome('', async (home) => {
      mkdirSync(join(home, 'cache'), { recursive: true })
      const env = { PATH: process.env['PATH'], HERMES_HOME: home, HOME: home }
      const start = (args: readonly string[]) =>
        spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'], timeout: timeoutMs })
      const answer = async () => {
        const begun = performance.now()
        const child = start([main, 'acp'])
        child.stdin.write(`${JSON.stringify(initialize)}\n`)
        const [line] = await Promise.race([once(child.stdout, 'data'), failed(child)])
        const ms = performance.now() - begun
        if (JSON.parse(String(line)).result?.protocolVersion !== 1) throw new Error(`no answer: ${line}`)
        child.stdin.end()
        await once(child, 'exit')
        return ms
      }
      const bare = async () => {
        const begun = performance.now()
        const child = start(['-e', '0'])
        await once(child, 'exit')
        return performance.now() - begun
      }
      await answer()
      const ours = []
      const nodes = []
      for (let round = 0; round < (full ? 30 : 10); round++) {
        ours.push(await answer())
        nodes.push(await bare())
      }
      return [
        {
          name: 'acp, initialize answered',
          measured: median(ours) / 1_000,
          unit: 's',
          bar: 0.4,
          baseline: { what: 'bare node', value: median(nodes) / 1_000 },
        },
      ]
    }),
}

async function failed(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit')
  throw new Error(`hermes acp ended with ${code}`)
}
