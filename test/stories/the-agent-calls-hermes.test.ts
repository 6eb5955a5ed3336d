import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sandboxSkip } from '../agent/sandbox/victim.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { hasResult, rowsIn, terminalCall } from './support.ts'

const skip = await sandboxSkip()

/** The model runs each message as a command, and answers with its result. */
function startShell(t: Parameters<typeof startTestGateway>[0], config: Readonly<Record<string, unknown>> = {}) {
  return startTestGateway(t, {
    config: { terminal: { sandbox: 'auto' }, ...config },
    model(request) {
      const messages = request.body['messages']
      const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
      const { content = '' } = Object(last)
      return hasResult(request) ? { text: String(content) } : terminalCall(String(content))
    },
  })
}

const terminal = ['*', 'terminal']
const everybody = { owner: { tools: ['*'] }, guest: { tools: terminal, group_tools: terminal } }

test('each person reads the own conversations only, and the token of a finished turn is refused', {
  skip,
}, async (t) => {
  const gateway = await startShell(t, { roles: { ...everybody, owners: ['fake:anna'] } })
  const [anna, bert] = [
    { chat: 'anna', user: 'anna' },
    { chat: 'bert', user: 'bert' },
  ]
  await gateway.say('echo tulips-of-anna; hermes whoami; printf %s "$HERMES_TURN_TOKEN" > kept', anna)
  await gateway.waitForReply(/Role.{0,4} owner/, 'anna')
  // No one is asked for what `hermes` refuses there, also to owners.
  await gateway.say('hermes plugins enable guard; echo exit $?', anna)
  await gateway.waitForReply(/exit 77/, 'anna')
  // The message of the person itself does not contain the word.
  await gateway.say('echo tulips-of-bert; hermes whoami; hermes sessions search tulips-of-an""na; echo end', bert)
  const { text } = await gateway.waitForReply('end', 'bert')
  assert.match(text, /Role.{0,4} guest/)
  assert.match(text, /No messages found/)
  await gateway.say('hermes sessions search tulips-of-bert | wc -l; echo mine', bert)
  assert.match((await gateway.waitForReply('mine', 'bert')).text, /"output":"[1-9]/)

  const token = readFileSync(join(gateway.home.workspace, 'kept'), 'utf8')
  assert.match(token, /^[\w-]{43}$/)
  await gateway.say('HERMES_TURN_TOKEN=$(cat kept) hermes whoami; echo stolen $?; cat kept; env', bert)
  const stolen = (await gateway.waitForReply('stolen', 'bert')).text
  assert.match(stolen, /stolen 1/)
  await gateway.waitForLog('agent_command.rejected')
  const written = JSON.stringify([gateway.log, gateway.replies(), rowsIn(gateway.home, 'select * from messages')])
  assert.ok(!written.includes(token), 'the token of a turn is taken out of logs, replies and transcripts')
  await gateway.stop()
  assert.ok(!existsSync(join(gateway.home.cache, 'sandbox/bin/hermes.sock')))
})

test('a background command loses the gateway when the turn that started it ends', { skip }, async (t) => {
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'auto' } },
    replies: [
      {
        toolCalls: [
          {
            name: 'terminal',
            arguments: {
              command: 'hermes version > during; until [ -e go ]; do sleep 0.1; done; hermes version; echo $? > after',
              background: true,
            },
          },
        ],
      },
      terminalCall('until [ -s during ]; do sleep 0.1; done'),
      { text: 'started' },
      terminalCall('touch go; until [ -s after ]; do sleep 0.1; done; cat during after'),
      { text: 'done' },
    ],
  })
  await gateway.say('start')
  await gateway.waitForReply('started')
  await gateway.say('look')
  await gateway.waitForReply('done')
  assert.match(readFileSync(join(gateway.home.workspace, 'during'), 'utf8'), /^hermes-gateway /)
  assert.equal(readFileSync(join(gateway.home.workspace, 'after'), 'utf8'), '1\n')
})
