import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startDiscordServer } from '../../kit/servers/discord/server.ts'
import { optionsFor } from './support.ts'

test("files can be uploaded in a process that has loaded Slack's package first, which brings another HTTP client", async (t) => {
  const discord = await startDiscordServer()
  t.after(discord.close)
  const dm = discord.dm(discord.person('Ada'))
  const script = new URL('with-bolt-loaded.ts', import.meta.url).pathname
  const options = JSON.stringify({ ...optionsFor(discord, discord.bot), chatId: dm.id })
  const { stdout } = await promisify(execFile)(process.execPath, [script, options], {
    env: { PATH: process.env['PATH'] },
  })
  assert.equal(JSON.parse(stdout).success, true)
  assert.equal(discord.fileOf(String(discord.sent()[0]?.attachments[0]?.['url']))?.toString(), 'hello')
})
