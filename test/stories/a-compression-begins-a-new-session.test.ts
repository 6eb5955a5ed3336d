import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { nextTitle } from '../../src/sessions/session-rotation.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn, runCommand, terminalCall } from './support.ts'

const filler = 'and more words of it '.repeat(40)
const config = {
  context_length: 4_150,
  compression: { protect_last_n: 1, target_ratio: 0.4, in_place: false },
}
const asksForSummary = ({ lastUserText }: RecordedRequest) => lastUserText.includes('Write the record now')

const endsWithResult = (request: RecordedRequest) => conversation(request).at(-1)?.startsWith('tool:') === true

function answer(request: RecordedRequest) {
  if (asksForSummary(request)) return { text: '## Goal\nA garden of roses.' }
  return { text: `Heard ${request.lastUserText.slice(0, 12)} ${filler}` }
}

async function talk(gateway: TestGateway, from: number, to: number): Promise<void> {
  for (let at = from; at <= to; at++) {
    await gateway.say(`message ${at} ${filler}`)
    await gateway.waitForReply(`Heard message ${at}`)
  }
}

const sessions = ({ home }: TestGateway) =>
  rowsIn(home, 'select id, parent_id, title, end_reason, session_key from sessions order by created_at, id')

test('with in_place: false a compression continues the conversation in a new session with a numbered title', async (t) => {
  const gateway = await startTestGateway(t, { model: answer, config })
  await talk(gateway, 1, 1)
  await runCommand(gateway, '/title Roses')
  await runCommand(gateway, '/reasoning high')
  await talk(gateway, 2, 6)
  const [first, second, ...more] = sessions(gateway)
  assert.ok(first && second)
  assert.deepEqual(more, [])
  assert.deepEqual([first['title'], first['end_reason']], ['Roses', 'compression'])
  assert.deepEqual([second['title'], second['end_reason'], second['parent_id']], ['Roses #2', null, first['id']])
  const { context } = await gateway.waitForEvent('session:compress')
  assert.deepEqual(
    [context['session_id'], context['old_session_id'], context['in_place']],
    [second['id'], first['id'], false],
  )
  // Nothing is lost in the old session, except the message of the turn, which belongs to the new one.
  const old = rowsIn(gateway.home, `select superseded, role from messages where session_id = '${first['id']}'`)
  assert.ok(old.length >= 6 && old.every(({ superseded }) => superseded === 0))
  const last = conversation(gateway.model.requests.at(-1))
  assert.match(last.join('\n'), /A garden of roses/)
  assert.match(last[0] ?? '', /message 1/, 'the first exchange is kept')
  const prompts = rowsIn(gateway.home, 'select session_id from prompts').map(({ session_id }) => session_id)
  assert.deepEqual(prompts.sort(), [first['id'], second['id']].sort())
  const turns = rowsIn(gateway.home, `select distinct session_id from turns where state = 'done'`)
  assert.equal(turns.length, 2)
  assert.equal(gateway.model.requests.at(-1)?.body['reasoning_effort'], 'high', 'the choices of the conversation hold')
  // The parent is the same conversation.
  await runCommand(gateway, '/new')
  const listed = await runCommand(gateway, '/sessions')
  assert.match(listed, /Roses #2/)
  assert.doesNotMatch(listed, /Roses$/m)
})

test('the variables of a skill reach commands after it was summarised in an earlier session, and after a restart', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { ...config, roles: { owners: ['fake:user'] } },
    prepare: ({ envFile }) => writeFileSync(envFile, 'WIKI_TOKEN=wiki-value-1\n', { mode: 0o600 }),
    model: (request) => {
      if (request.lastUserText.startsWith('message 2') && !endsWithResult(request))
        return { toolCalls: [{ name: 'skill_view', arguments: { name: 'wiki' } }] }
      if (request.lastUserText !== 'use it') return answer(request)
      return !endsWithResult(request) ? terminalCall(`echo "has:\${#WIKI_TOKEN}"`) : { text: 'used' }
    },
  })
  const folder = join(gateway.home.skills, 'wiki')
  mkdirSync(folder, { recursive: true })
  const head = 'name: wiki\ndescription: Use it\nrequired_environment_variables: [{ name: WIKI_TOKEN }]'
  writeFileSync(join(folder, 'SKILL.md'), `---\n${head}\n---\n\nCall the API.\n`)
  await talk(gateway, 1, 6)
  assert.ok(sessions(gateway).length > 1)
  await gateway.stop()
  await gateway.start()
  await gateway.say('use it')
  await gateway.waitForReply('used')
  const last = conversation(gateway.model.requests.at(-1)).join('\n')
  assert.doesNotMatch(last, /Call the API/)
  assert.match(last, /has:12/)
})

test('a gateway that ends between the new session and its first request goes on there', async (t) => {
  let ends = 1
  const ended = Promise.withResolvers<void>()
  const gateway: TestGateway = await startTestGateway(t, {
    model: answer,
    config,
    gateway: {
      failpoint(point) {
        if (point === 'compression:rotated' && ends-- > 0) ended.resolve(gateway.stop(AbortSignal.abort()))
      },
    },
  })
  await talk(gateway, 1, 4)
  await gateway.say(`message 5 ${filler}`)
  await ended.promise
  await gateway.start()
  await gateway.waitForReply('Heard message 5')
  assert.equal(sessions(gateway).length, 2)
  const own = rowsIn(gateway.home, `select session_id from messages where content like 'message 5%'`)
  assert.deepEqual(
    own.map(({ session_id }) => session_id),
    [sessions(gateway)[1]?.['id']],
  )
  await talk(gateway, 6, 6)
  assert.match(conversation(gateway.model.requests.at(-1)).join('\n'), /A garden of roses[\s\S]*message 5/)
})

test('/compress begins a new session, too, and the next message continues there', async (t) => {
  const gateway = await startTestGateway(t, {
    model: answer,
    config: { context_length: 16_000, compression: { protect_last_n: 1, in_place: false } },
  })
  await talk(gateway, 1, 6)
  await gateway.say('/compress')
  await gateway.waitForReply('Compressed: ')
  await talk(gateway, 7, 7)
  const [first, second] = sessions(gateway)
  assert.equal(second?.['parent_id'], first?.['id'])
  const last = conversation(gateway.model.requests.at(-1))
  assert.match(last.join('\n'), /A garden of roses[\s\S]*message 7/)
  assert.doesNotMatch(last.join('\n'), /message 2/)
})

test('a title is numbered', () => {
  assert.deepEqual(['Taxes', 'Taxes #2', 'a #b', ''].map(nextTitle), ['Taxes #2', 'Taxes #3', 'a #b #2', ''])
})
