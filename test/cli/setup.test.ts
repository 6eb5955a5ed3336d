/**
 * `hermes setup` on a pseudo-terminal: from nothing to an answered message on Telegram. And for scripts, without a terminal.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { createHomeLayout } from '../../src/lib/home.ts'
import { findTerminalProblem, runHermesInTerminal } from '../kit/pseudo-terminal.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { startTelegramServer } from '../kit/servers/telegram-server.ts'
import { tempHome } from '../kit/temp-home.ts'
import { runInProcess } from './support.ts'

async function newHome(t: TestContext) {
  const server = await startTelegramServer()
  t.after(server.close)
  const home = createHomeLayout(tempHome(t))
  // The only thing that a newcomer does not write: where the local Telegram is.
  const config = `# mine\nhttp: { port: 0 }\nterminal: { sandbox: off }\nplatforms:\n  telegram:\n    api_root: ${server.url}\n`
  writeFileSync(home.configFile, config, { mode: 0o600 })
  return { server, home }
}

const noTerminal = findTerminalProblem()

test('a newcomer connects a model and a bot in a terminal, and is answered on Telegram', {
  timeout: 180_000,
  ...(noTerminal === undefined ? {} : { skip: noTerminal }),
}, async (t) => {
  const { server, home } = await newHome(t)
  const model = await startOpenAiServer({ defaultReply: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }) })
  t.after(model.stop)
  const terminal = runHermesInTerminal({
    args: ['setup'],
    environment: { HERMES_HOME: home.root, HOME: home.root },
    columns: 110,
    rows: 60,
  })
  t.after(() => terminal.kill('SIGKILL'))
  const answer = async (question: RegExp, text: string) => {
    await terminal.until(question)
    terminal.type(`${text}\r`)
  }
  await answer(/Provider \(.*\): $/m, 'custom')
  await answer(/Address of the API.*: $/m, model.baseUrl)
  await answer(/A name for the server.*: $/m, '')
  await answer(/Key \(not shown.*: $/m, '')
  await answer(/Model of server.*: $/m, 'a-model')
  if (/nevertheless/.test(await terminal.until(/nevertheless\?|Chat to connect/))) terminal.type('y\r')
  if (/probe|does not work|✗/.test(await terminal.until(/nevertheless\? \[y\/N\] $|Chat to connect/m)))
    terminal.type('y\r')
  await answer(/Chat to connect .*: $/m, 'telegram')
  await answer(/Token \(not shown.*: $/m, '1:a-wrong-token-of-no-one')
  await answer(/Try again\? \[y\/N\] $/m, 'y')
  await answer(/Try again[\s\S]*Token \(not shown.*: $/m, server.bot.token)
  await terminal.until(/Write to it now.*: $/m)
  assert.ok(!terminal.written().includes(server.bot.token))
  await server.bot.say('hello').confirmed
  await answer(/has written\. Is this you, the owner\?.*$/m, 'y')
  await terminal.until(/is an owner/)
  await server.bot.say('is it noon?').confirmed
  await server.bot.chats.until(({ text }) => text === 'You said: is it noon?')
  await answer(/Enter goes on: $/m, '')
  await answer(/Enter goes on[\s\S]*Chat to connect .*: $/m, '')
  await answer(/as a service\? \[y\/N\] $/m, 'n')
  assert.equal((await terminal.exited).exitCode, 0)
  const config = readFileSync(home.configFile, 'utf8')
  assert.match(config, /^# mine/)
  assert.match(config, /owners:\s+- telegram:/)
  assert.match(readFileSync(home.envFile, 'utf8'), /TELEGRAM_BOT_TOKEN=/)
})

test('a script connects a bot with the variables of its process, and nothing is stored that the platform refuses', async (t) => {
  const { server, home } = await newHome(t)
  const run = async (token: string) => {
    const words = ['setup', 'chat', '--platform', 'telegram', '--json']
    const { code, stdout } = await runInProcess(home.root, words, { environment: { TELEGRAM_BOT_TOKEN: token } })
    return { code, ...JSON.parse(stdout) }
  }
  const wrong = await run('1:a-wrong-token-of-no-one')
  assert.deepEqual([wrong.code, wrong.stored, existsSync(home.envFile)], [1, false, false])
  const right = await run(server.bot.token)
  assert.deepEqual([right.stored, right.invitation.url], [true, `https://t.me/${server.bot.username}`])
  assert.match(readFileSync(home.envFile, 'utf8'), new RegExp(`TELEGRAM_BOT_TOKEN=.*${server.bot.token}`))
  assert.equal((await runInProcess(home.root, ['setup', 'nonsense'])).code, 2)
})
