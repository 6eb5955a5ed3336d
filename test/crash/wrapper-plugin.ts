/**
 * A plugin that wraps every call, and kills the process at a point of its own.
 */
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe } from 'node:test'
import { type Round, testRounds } from './rounds.ts'

/** Registers the rounds with the plugin. */
export function testWithPlugin(rounds: readonly Round[]): void {
  describe('with a plugin around every call, no message is lost or duplicated', { concurrency: 2 }, () =>
    // The plugin may change texts of the model, so only the final one is shown.
    testRounds(rounds, { prepare: installPlugin, showsInterim: false }),
  )
}

/** A round in which the plugin kills the process at its point. */
export function pluginRound(name: string): Round {
  return {
    name: `killed by the plugin (${name})`,
    point: { name: `plugin:${name}`, hits: 1 },
    prepare: (home) => writeFile(killFile(home), name),
  }
}

/** Contains the point at which the plugin kills the process next. */
export function killFile(home: string): string {
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
