/**
 * The process is killed with SIGKILL between two steps of a message from Discord; the next life answers it, once.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withTimeout } from '../../../src/lib/timers.ts'
import { start } from '../../crash/scenario.ts'
import { startDiscordServer } from '../../kit/servers/discord/server.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { optionsFor, until } from './support.ts'

const repositoryPath = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

/** Discord as a platform of the home, so that this gateway speaks nothing else. */
function prepare(home: string, config: Readonly<Record<string, unknown>>): void {
  const platform = join(home, 'platforms', 'discord')
  mkdirSync(platform, { recursive: true, mode: 0o700 })
  cpSync(repositoryPath('platforms/discord/plugin.yaml'), join(platform, 'plugin.yaml'))
  const adapter = new URL('../../../platforms/discord/adapter.ts', import.meta.url).href
  writeFileSync(join(platform, 'adapter.ts'), `export { default } from '${adapter}'\n`)
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config), { mode: 0o600 })
}

function runGateway(children: Set<ChildProcess>, home: string, killAt?: string, killHit = 1): ChildProcess {
  return start(home, killAt === undefined ? {} : { killAt, killHit }, children)
}

function exitOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
}

const failpoints = [
  { at: 'inbox:before-commit', hit: 2, what: 'before a message was stored: it is fetched' },
  { at: 'outbox:accepted', hit: 2, what: 'after an answer was sent, before that was stored: Discord knows its name' },
]

describe('killed between two steps, the gateway answers once', { concurrency: 2 }, () => {
  for (const { at, hit, what } of failpoints) {
    test(`killed ${what}`, { timeout: 60_000 }, async (t) => {
      const children = new Set<ChildProcess>()
      // Before the home is made: one that is in use must not be removed.
      t.after(() => {
        for (const child of children) child.kill('SIGKILL')
      })
      const home = tempHome(t)
      const discord = await startDiscordServer()
      const model = await startOpenAiServer({
        defaultReply: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
      })
      t.after(async () => {
        await discord.close()
        await model.stop()
      })
      const ada = discord.person('Ada')
      const dm = discord.dm(ada)
      prepare(home, {
        model: 'test',
        provider: 'openai',
        base_url: model.baseUrl,
        api_key: 'none',
        http: { port: 0 },
        platforms: { discord: { ...optionsFor(discord, discord.bot), allow_from: [ada.id] } },
      })
      const shown = async (text: string) => {
        const found = await withTimeout(
          discord.until(({ content }) => content === text),
          30_000,
        )
        assert.ok(found.done, `waited in vain for ${text}`)
      }
      const killed = exitOf(runGateway(children, home, at, hit))
      await until(() => discord.gateway.counts.identified === 1, discord)
      discord.say(ada, dm, 'Are you there?')
      await shown('You said: Are you there?')
      discord.say(ada, dm, 'Hello')
      assert.equal(await killed, 'SIGKILL')
      const survivor = runGateway(children, home)
      await shown('You said: Hello')
      discord.say(ada, dm, 'Still there?')
      await shown('You said: Still there?')
      assert.deepEqual(
        discord.sent(dm.id).map(({ content }) => content),
        ['You said: Are you there?', 'You said: Hello', 'You said: Still there?'],
      )
      const stopped = exitOf(survivor)
      survivor.kill('SIGTERM')
      assert.equal(await stopped, 0)
    })
  }
})
