/**
 * The sandbox of a session is that of its folder.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { methods } from '@agentclientprotocol/sdk'
import { sandboxSkip } from '../../agent/sandbox/victim.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { conversation, terminalCall } from '../../stories/support.ts'
import { openEditor } from './editor.ts'

test('commands and file tools write in the folder of the session, and not in that of another one', {
  skip: await sandboxSkip(),
}, async (t) => {
  const [mine, other] = [tempHome(t), tempHome(t)]
  const write = (path: string) => ({ toolCalls: [{ name: 'write_file', arguments: { path, content: 'new' } }] })
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'auto' } },
    replies: [
      terminalCall(`echo command > a; echo x > ${other}/a; cat ../*/config.yaml`),
      write('b'),
      write('/usr/local/hermes-test-outside'),
      { text: 'done' },
    ],
  })
  const editor = await openEditor(t, gateway)
  const sessionId = await editor.open(mine)
  await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'dont_ask' })
  await editor.say(sessionId, 'write')
  assert.deepEqual([readFileSync(join(mine, 'a'), 'utf8'), readFileSync(join(mine, 'b'), 'utf8')], ['command\n', 'new'])
  assert.deepEqual([existsSync(join(other, 'a')), existsSync('/usr/local/hermes-test-outside')], [false, false])
  assert.match(conversation(gateway.model.requests[3]).join('\n'), /outside_sandbox/)
})
