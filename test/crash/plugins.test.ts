/**
 * The same stories with a plugin around everything: what it wraps, watches and rewrites makes no effect happen twice, and
 * loses no message. It also kills the process itself, where no named point lies: within the wrapper.
 */
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { killPoints, live } from './life.ts'

const points = ['agent:streaming', 'tool:started', 'tool:effect-done', 'turn:before-finish']
/** Where the plugin kills the process, once. */
const places = ['before', 'after', 'watching', 'answering']

describe('a plugin around every call doubles nothing and loses nothing', { concurrency: 2 }, () => {
  for (const point of killPoints.filter(({ name }) => points.includes(name)))
    test(`killed at ${point.name}`, () => live(point, 1, (home) => givePlugin(home, '')))
  // It dies before it comes to the named point, which the second life does.
  for (const place of places)
    test(`killed by the plugin (${place})`, () =>
      live({ name: 'recovery:done', hits: 1, after: `plugin:${place}` }, 1, (home) => givePlugin(home, place)))
})

async function givePlugin(home: string, killsAt: string): Promise<void> {
  const folder = join(home, 'plugins', 'wrapper')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'plugin.yaml'), 'name: wrapper\n')
  await writeFile(join(folder, 'index.js'), code(join(home, 'killed'), killsAt))
  await appendFile(join(home, 'config.yaml'), 'plugins: { enabled: [wrapper] }\n')
}

function code(marker: string, killsAt: string): string {
  return `import { existsSync, writeFileSync } from 'node:fs'
export function register(ctx) {
  const pass = (place) => {
    if (place !== ${JSON.stringify(killsAt)} || existsSync(${JSON.stringify(marker)})) return
    writeFileSync(${JSON.stringify(marker)}, '')
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
