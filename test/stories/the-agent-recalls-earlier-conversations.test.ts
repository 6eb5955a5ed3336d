import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChatClient } from '../../src/clients/chat/chat-client.ts'
import { isRecord } from '../../src/lib/json.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'
import { hasResult, runCommand } from './support.ts'

const room = { chat: 'room', chatType: 'group' as const }

/** What the tool told the model after this message. */
async function recalled(gateway: TestGateway, options: { user: string; chat: string }): Promise<string> {
  await gateway.say('recall it', options)
  await gateway.waitForReply('recalled', options.chat)
  const messages = gateway.model.requests.at(-1)?.body['messages']
  const result: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  assert.ok(isRecord(result) && result['role'] === 'tool')
  return String(result['content'])
}

test('the agent finds what was said before /new, and a group is told nothing that a person wrote to it alone', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { group_sessions_per_user: false, roles: { members: ['fake:ada'] } },
    model: (request) => {
      if (hasResult(request)) return { text: 'recalled' }
      if (!request.lastUserText.includes('recall it')) return { text: 'noted' }
      return { toolCalls: [{ name: 'session_search', arguments: { query: 'tulips' } }] }
    },
  })
  const say = async (text: string, options: { user: string; chat: string }) => {
    await gateway.say(text, options)
    await gateway.waitForReply('noted', options.chat)
    assert.match(await runCommand(gateway, '/new', options), /New conversation/)
  }
  const inRoom = (user: string) => ({ ...room, user })
  await say('tulips of Carol in private', { user: 'carol', chat: 'carol' })
  await say('tulips of Ada in private', { user: 'ada', chat: 'ada' })
  await say('tulips of the group', inRoom('ada'))
  const alone = await recalled(gateway, { user: 'ada', chat: 'ada' })
  assert.match(alone, /tulips of Ada in private/)
  assert.doesNotMatch(alone, /Carol|of the group/)
  const together = await recalled(gateway, inRoom('bob'))
  assert.match(together, /tulips of the group/)
  assert.doesNotMatch(together, /in private/)
})

test('`hermes chat --query` finds the other conversations of the terminal, and a batch finds only its own', async (t) => {
  const gateway = await startTestGateway(t, {
    model: (request) => {
      if (hasResult(request)) return { text: 'recalled' }
      if (!request.lastUserText.includes('recall it')) return { text: 'noted' }
      return { toolCalls: [{ name: 'session_search', arguments: { query: 'tulips' } }] }
    },
  })
  const { url, token } = gateway.current()
  const signal = AbortSignal.timeout(waitLimitMs())
  const ask = async (platform: 'cli' | 'batch', text: string, unattended: boolean) => {
    const client = createChatClient({ url, token: token(), fetch, platform })
    await client.waitForResult(await client.send(text, signal, unattended), signal)
    return JSON.stringify(gateway.model.requests.at(-1)?.body['messages'])
  }
  await ask('cli', 'the tulips are red', false)
  assert.match(await ask('cli', 'recall it', false), /are red/)
  assert.match(await ask('cli', 'recall it', true), /are red/)
  assert.doesNotMatch(await ask('batch', 'recall it', true), /are red/)
})
