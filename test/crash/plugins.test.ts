/**
 * Runs the crash scenario with a plugin that wraps every call. No effect happens twice and no message is lost. The plugin
 * also kills the process itself, within its wrapper, where there is no failpoint.
 */
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe } from 'node:test'
import { type Round, testRounds } from './rounds.ts'
import { killPoints } from './scenario.ts'

const points = ['agent:streaming', 'tool:started', 'tool:effect-done', 'turn:before-finish']
/** The points at which the plugin kills the process once. */
const pluginPoints = ['before', 'watching', 'answering']

const rounds: readonly Round[] = [
  ...killPoints
    .filter(({ name }) => points.includes(name))
    .map((point) => ({ name: `killed at ${point.name}`, point })),
  ...pluginPoints.map((name) => ({
    name: `killed by the plugin (${name})`,
    point: { name: `plugin:${name}`, hits: 1 },
    prepare: (home: string) => writeFile(killFile(home), name),
  })),
  {
    name: 'killed by the plugin (after) and again after the recovery',
    point: { name: 'recovery:done', hits: 1, after: 'plugin:after' },
    prepare: (home: string) => writeFile(killFile(home), 'after'),
  },
]

describe('with a plugin around every call, no message is lost or duplicated', { concurrency: 2 }, () =>
  // The plugin may change texts of the model, so only the final one is shown.
  testRounds(rounds, { prepare: installPlugin, showsInterim: false }),
)

/** Contains the point at which the plugin kills the process next. */
function killFile(home: string): string {
  return join(home, 'kill-in-plugin')
}

async function installPlugin(home: string): Promise<void> {
  const folder = join(home, 'plugins', 'wrapper')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'plugin.yaml'), 'name: wrapper\n')
  await writeFile(join(folder, 'index.js'), code(killFile(home)))
  await appendFile(join(home, 'config.yaml'), 'plugins: { enabled: [wrapper] }\n')
}

function code(killFile: string): string {
  return `import { existsSync, readFileSync, rmSync } from 'node:fs'
export function register(ctx) {
  const killFile = ${JSON.stringify(killFile)}
  const pass = (point) => {
    if (!existsSync(killFile) || readFileSync(killFile, 'utf8') !== point) return
    rmSync(killFile)
    process.kill(process.pid, 'SIGKILL')
  }
  ctx.registerMiddleware('tool_request', ({ args }) => ({ args: { ...args, timeout: 60 } }))
  ctx.registerMiddleware('tool_execution', async ({ next_call }) => {
    pass('before')
    const result = await next_call()
    pass('after')
    throw new Error('after a good result: ' + result.length)
  })
  ctx.registerIntercept('again', 'tool_execution', async ({ args }, next) => {
    try {
      return await next({ ...args })
    } finally {
      await new Promise(setImmediate)
    }
  })
  ctx.registerMiddleware('llm_execution', ({ next_call }) => next_call())
  ctx.registerSubscriber('watcher', () => undefined)
  ctx.registerHook('post_tool_call', () => pass('watching'))
  ctx.registerHook('transform_llm_output', ({ response_text }) => {
    pass('answering')
    return response_text + ' '
  })
}
`
}
