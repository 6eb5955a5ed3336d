/**
 * Plugins call the tools of MCP servers, where the configuration names the server for the plugin.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttpServer } from '../agent/mcp/http-server.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'

const caller = `
  const call = (...asked) => ctx.callMcp(...asked).then(JSON.stringify, ({ code }) => code)
  ctx.registerCommand({ name: 'look', description: '', run: () => call('notes', 'look', { what: 'rain' }) })
  ctx.registerCommand({ name: 'other', description: '', run: () => call('other', 'look', { what: 'rain' }) })
  ctx.registerCommand({ name: 'change', description: '', run: () => call('notes', 'count') })
  ctx.registerCommand({ name: 'late', description: '', run: () => call('free', 'wait', {}, { timeout: 1 }) })
  ctx.registerCommand({ name: 'nothing', description: '', run: () => call('notes', 'no_such_tool') })`

test('a plugin calls a server that it may call, within its time, and no other one', async (t) => {
  const server = await startHttpServer(t)
  const gateway = await startTestGateway(t, {
    config: {
      mcp_servers: {
        notes: { url: server.url },
        other: { url: server.url },
        free: { url: server.url, approval: 'never' },
      },
      plugins: { enabled: ['caller', 'stranger'], entries: { caller: { mcp_allowlist: ['notes', 'free'] } } },
    },
    prepare: (home) =>
      writeFiles(home.plugins, {
        ...pluginFiles('caller', caller),
        ...pluginFiles(
          'stranger',
          `ctx.registerCommand({ name: 'stranger', description: '', run: () => ctx.callMcp('notes', 'look').catch(({ code }) => code) })`,
        ),
      }),
  })
  const run = async (command: string, expected: RegExp) => {
    await gateway.say(`/${command}`, { chat: command })
    await gateway.waitForReply(expected, command)
  }
  await run('look', /^\{"ok":true,"result":"seen: rain"/)
  await run('other', /^plugins\/not-allowed$/)
  await run('stranger', /^plugins\/not-allowed$/)
  // It may change something, and no person is asked outside of a turn.
  await run('change', /^plugins\/tool-refused$/)
  await run('late', /^\{"ok":false,"error":"/)
  await run('nothing', /^(?:plugins\/tool-refused|\{"ok":false)/)
  assert.ok(gateway.log.every((line) => !line.includes('"level":"error"')))
})
