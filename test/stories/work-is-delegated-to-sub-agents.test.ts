/**
 * The agent delegates work to a sub-agent. The user receives one reply, and the tokens count to one turn.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { isAlive, numberIn, until } from './processes.ts'
import {
  conversation,
  hasResult,
  rowsIn,
  runCommand,
  terminalCall,
  waitForCommandReply,
  waitForQuestion,
} from './support.ts'

const delegateCall: ModelReply = {
  toolCalls: [{ name: 'delegate_task', arguments: { goal: 'say who you are', context: 'use echo' } }],
}

/** The main agent delegates and reports; the sub-agent runs a command and replies. */
function delegate(request: RecordedRequest): ModelReply {
  const isChild = conversation(request)[0]?.startsWith('user: say who you are') === true
  if (!hasResult(request)) return isChild ? terminalCall('echo $((6 * 7))') : delegateCall
  return { text: isChild ? 'I am the child.' : `They say: ${conversation(request).at(-1)}` }
}

test('a sub-agent has its own tools, and its tokens count to the turn', async (t) => {
  const gateway = await startTestGateway(t, { model: delegate })
  await gateway.say('find out')
  await gateway.waitForReply(/They say: tool: .*"status":"completed","summary":"I am the child\."/)
  assert.deepEqual(conversation(gateway.model.requests[1]), ['user: say who you are\n\nuse echo'])
  assert.match(conversation(gateway.model.requests[2]).at(-1) ?? '', /42/)
  const [session] = rowsIn(gateway.home, 'select input_tokens from sessions')
  const [alone] = rowsIn(gateway.home, `select sum(json_extract(usage, '$.inputTokens')) as tokens from messages`)
  assert.equal(session?.['input_tokens'], alone?.['tokens'])
  assert.equal(rowsIn(gateway.home, 'select id from sessions').length, 1, 'the sub-agent has no stored session')
  const texts = rowsIn(gateway.home, 'select content from messages').map(({ content }) => String(content))
  assert.ok(!texts.some((text) => text.includes('42')))
})

test('an approval in a sub-agent is asked in the chat', async (t) => {
  const body = `
    ctx.registerHook('pre_tool_call', ({ tool_name }) => (tool_name === 'terminal' ? { action: 'approve' } : null))
    ctx.registerHook('subagent_start', ({ child_goal, parent_session_id }) =>
      void ctx.log.info({}, ['child begins', child_goal, typeof parent_session_id].join(' ')))
    ctx.registerHook('subagent_stop', ({ child_status, tool_call_history }) =>
      void ctx.log.info({}, ['child ends', child_status, tool_call_history.length].join(' ')))
    ctx.registerHook('on_session_end', ({ session_id }) => void ctx.log.info({}, 'a session ends'))`
  const gateway = await startTestGateway(t, {
    model: delegate,
    capabilities: ['edit', 'buttons'],
    config: { plugins: { enabled: ['guard'] } },
    prepare: (home) => writeFiles(home.plugins, pluginFiles('guard', body)),
  })
  await gateway.say('find out')
  const question = await waitForQuestion(gateway)
  await gateway.platform.press(question, 'Allow once')
  await gateway.waitForReply('They say')
  await gateway.waitForLog('child begins say who you are string')
  await gateway.waitForLog('child ends completed 1')
})

test('/stop cancels the turn and its sub-agents', async (t) => {
  const gateway = await startTestGateway(t, {
    replies: [delegateCall, { text: 'one two three', hang: 'stream', hangAfter: 2 }],
  })
  await gateway.say('find out')
  const child = await gateway.modelRequest(1)
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  assert.equal(await child.closed, true)
  await gateway.say('still there?')
  await gateway.waitForReply('still there?')
})

test('/agents lists the sub-agents of all depths, and /stop ends them with their processes', async (t) => {
  const goals = ['find out', 'first part', 'second part', 'third part']
  const gateway = await startTestGateway(t, {
    config: { delegation: { max_spawn_depth: 3 } },
    model(request) {
      const depth = goals.findIndex((goal) => conversation(request)[0] === `user: ${goal}`)
      const goal = goals[depth + 1]
      if (depth === -1) return { text: 'Here I am.' }
      if (goal === undefined) return terminalCall('sleep 1000 & echo $! > left; sleep 1000')
      return { toolCalls: [{ name: 'delegate_task', arguments: { goal, role: 'orchestrator' } }] }
    },
  })
  await gateway.say('find out')
  const pid = await numberIn(join(gateway.home.root, 'left'))
  const list = await runCommand(gateway, '/agents')
  assert.match(
    list,
    /sub_\d+_\w+.*depth 1.*delegate_task.*first part[\s\S]*depth 2.*second part[\s\S]*depth 3.*terminal/,
  )
  await gateway.say('/stop')
  await until(() => !isAlive(pid))
  await gateway.waitForLog({ event: 'turn.ended', state: 'stopped' })
  const [session] = rowsIn(gateway.home, 'select input_tokens from sessions')
  const [own] = rowsIn(
    gateway.home,
    `select json_extract(usage, '$.inputTokens') as tokens from messages where role = 'assistant' order by ord`,
  )
  assert.ok(Number(session?.['input_tokens']) > Number(own?.['tokens']), 'what the sub-agents have used counts')
  await gateway.say('still there?', { chat: 'other' })
  await gateway.waitForReply('Here I am.', 'other')
})

test('if all tools are disabled, the request has no tools', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      agent: {
        disabled_toolsets: [
          'terminal',
          'file',
          'todo',
          'messaging',
          'session_search',
          'memory',
          'skills',
          'web',
          'code_execution',
          'cronjob',
        ],
      },
    },
  })
  await gateway.say('hello')
  await gateway.waitForReply('hello')
  assert.equal(gateway.model.requests[0]?.body['tools'], undefined)
})

test('a sub-agent has the ceiling of the person who caused it', async (t) => {
  const gateway = await startTestGateway(t, {
    model: delegate,
    config: { roles: { owners: ['fake:boss'], guest: { tools: ['*', '-terminal'] } } },
  })
  await gateway.say('find out')
  await gateway.waitForReply(/They say: tool: .*"summary":"I am the child\."/)
  assert.match(conversation(gateway.model.requests[2]).at(-1) ?? '', /not_allowed_for_role/)
})

test('a pause holds the turn of a sub-agent, which goes on afterwards', async (t) => {
  const release = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    model: (request) => ({
      ...delegate(request),
      gate: () => (gateway.model.requestCount === 2 ? release.promise : Promise.resolve()),
    }),
  })
  await gateway.say('find out')
  await gateway.modelRequest(1)
  await gateway.post('/api/pause', { reason: 'stop the bill' })
  release.resolve()
  await gateway.waitForLog({ event: 'turn.paused' })
  const paused = gateway.model.requestCount
  await gateway.post('/api/pause', { off: true })
  await gateway.waitForReply(/They say: tool: .*"summary":"I am the child\."/)
  assert.ok(gateway.model.requestCount > paused)
})
