/**
 * What `hermes plugins new` and `hermes hooks new` write compiles with the real compiler and the tsconfig.json beside it.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { sdkTypes, writeSdkTypes } from '../../../src/packages/sdk-declarations.ts'
import { readPage } from '../../docs/pages.ts'
import { root as repository, textOf } from '../../docs/repository.ts'
import { writeFiles } from '../../plugins/loader-support.ts'
import { homeWith, runInProcess } from '../support.ts'

/** The errors of the compiler as `file(line) code`. */
function compile(home: string): Promise<string[]> {
  const compiler = join(repository, 'node_modules/typescript/bin/tsc')
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, '-p', home, '--pretty', 'false'], { cwd: home }, (_error, stdout, stderr) => {
      const lines = (stdout + stderr).split('\n').filter((line) => /^\S/.test(line))
      resolve(lines.map((line) => line.replace(/^(.+)\((\d+),\d+\): error (TS\d+).*$/, '$1($2) $3')))
    })
  })
}

before(writeSdkTypes)

test('a new plugin, a new hook and a platform have types in an editor, and a mistake is an error', async (t) => {
  const { root } = homeWith(t)
  assert.equal((await runInProcess(root, ['plugins', 'new', 'my-plugin'])).code, 0)
  assert.equal((await runInProcess(root, ['hooks', 'new', 'my-hook'])).code, 0)
  const { blocks } = await readPage('docs/how-to/add-a-platform.md', textOf('docs/how-to/add-a-platform.md'))
  const adapter = blocks.find(({ file }) => file === 'platforms/pager/adapter.ts')?.text ?? ''
  assert.notEqual(adapter, '')
  writeFiles(root, {
    'platforms/pager/adapter.ts': `${adapter}\n`,
    'plugins/typed/index.ts': `import { z } from 'zod'
import type { PluginContext } from '#sdk'
export function register(ctx: PluginContext): void {
  ctx.registerTool({ name: 'measure', description: '', parameters: z.object({ of: z.string() }), run: ({ of }) => of.length })
  ctx.registerHook('pre_api_request', (call) => {
    if (call.api_mode === 'anthropic_messages') ctx.log.info({ event: 'x', tokens: call.request.max_tokens }, 'x')
    if (call.api_mode === 'chat_completions') ctx.log.info({ event: 'x', role: call.request.messages[0]?.role }, 'x')
  })
  ctx.registerMiddleware('llm_execution', async ({ api_mode, request, next_call }) => {
    if (api_mode !== 'chat_completions') return next_call(request)
    const response = await next_call({ ...request, user: 'me' })
    return response.choices[0]?.message.content === '' ? next_call() : response
  })
  ctx.registerIntercept('typed', 'model_stream', async (call, next) => edited(await next(call.request)))
  async function* edited(chunks: Awaited<ReturnType<Next>>) {
    for await (const chunk of chunks) {
      if ('choices' in chunk) yield { ...chunk, model: chunk.choices[0]?.delta.content ?? '' }
      else if (chunk.type === 'content_block_delta') yield { ...chunk, index: chunk.index }
      else yield chunk
    }
  }
}
type Next = () => Promise<AsyncIterable<import('#sdk').WireChunk>>
`,
    'plugins/wrong/index.ts': `import type { PluginContext } from '#sdk'
export function register(ctx: PluginContext): void {
  ctx.registerHook('pre_api_request', (call) => {
    if (call.api_mode === 'anthropic_messages') call.request.mesages
    if (call.api_mode === 'chat_completions') call.request.system
  })
  ctx.registerMiddleware('llm_execution', async ({ api_mode, next_call }) => {
    const response = await next_call()
    return api_mode === 'anthropic_messages' && response.content
  })
  ctx.registerIntercept('wrong', 'model_stream', async (_call, next) => {
    for await (const chunk of await next()) if ('choices' in chunk) ctx.log.info({ event: 'x', of: chunk.choises }, 'x')
    return next()
  })
  ctx.registerHook('pre_tool_call', () => ({ action: 'blok', message: '' }))
}
`,
  })
  assert.deepEqual(await compile(root), [
    'plugins/wrong/index.ts(4) TS2551',
    'plugins/wrong/index.ts(5) TS2339',
    'plugins/wrong/index.ts(9) TS2339',
    'plugins/wrong/index.ts(12) TS2551',
    'plugins/wrong/index.ts(15) TS2322',
  ])
})

test('the settings of the owner stay, and those of a moved installation are written again', async (t) => {
  const { root } = homeWith(t)
  const [own, sdk] = [join(root, 'tsconfig.json'), join(root, 'tsconfig.sdk.json')]
  writeFileSync(own, '{ "extends": "./tsconfig.sdk.json", "include": ["plugins/mine"] }')
  writeFileSync(sdk, '{ "files": ["/moved/types/sdk.d.ts"] }')
  assert.equal((await runInProcess(root, ['plugins', 'new', 'mine'])).code, 0)
  assert.match(readFileSync(own, 'utf8'), /plugins\/mine/)
  assert.deepEqual(JSON.parse(readFileSync(sdk, 'utf8')).files, [join(repository, 'types/sdk.d.ts')])
})

test('the types of #sdk have what it exports and what that refers to, and no module behind it', () => {
  const modules = [...sdkTypes().matchAll(/^declare module 'hermes-gateway:([^']+)'/gm)].map(([, name = '']) => name)
  for (const name of ['sdk', 'platforms/adapter', 'plugins/contract']) assert.ok(modules.includes(name), name)
  const internal =
    /^(?:api|app|approvals|cli|clients|config|cron|engine|flows|http|inbox|outbox|pairing|sessions|store)\//
  assert.deepEqual(
    modules.filter((name) => internal.test(name)),
    [],
  )
})
