/**
 * A short version of the proof of the platforms (test/proof/platforms): several faults at the same time, an outage and a
 * stop during a turn. Every message must be answered once and in order.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { withTimeout } from '../../src/lib/timers.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'
import { countDeliveries, tokenOf } from '../proof/delivery-counts.ts'
import { createMessageLog, type TrackedMessage } from '../proof/platforms/message-log.ts'
import { draftThreshold, startProofModel } from '../proof/platforms/model.ts'
import { allChats, type TestPlatform } from '../proof/platforms/test-platform.ts'

/** The reply whose response was lost: found by asking the platform, or sent again with a label. */
export type LostReceipt = 'found' | 'labelled'

export async function testWithFaults(
  t: TestContext,
  startStage: () => Promise<TestPlatform>,
  lostReceipt: LostReceipt,
): Promise<void> {
  const stage = await startStage()
  const { platform, chats, faults, calls, vendorIdOf: nameOf } = stage
  const model = await startProofModel(new Map())
  const talk = createMessageLog([stage])
  const world = await startTestGateway(t, {
    config: {
      base_url: model.baseUrl,
      streaming: { buffer_threshold: draftThreshold },
      platforms: { fake: { enabled: false }, [platform]: { enabled: true, ...stage.config } },
    },
  })
  t.after(async () => {
    talk.close()
    await model.stop()
    await stage.close()
  })
  const askInAllChats = () => allChats(chats).map((chat) => talk.send(stage, chat, 'plain'))
  const [first = '', second = '', third = ''] = chats.busy
  const sendsTo = (chat: string) => (call: { method: string; chat?: string | undefined }) =>
    call.chat === nameOf(chat) && calls.send.test(call.method)

  await answered(askInAllChats())

  // A different fault in each of five chats.
  faults.reset(sendsTo(first))
  faults.dropResponse(sendsTo(second))
  faults.respond(sendsTo(third), stage.responses.broken)
  const limit = faults.limit({ on: calls.counted, chat: nameOf(chats.probe), ms: 500 })
  const withFaults = [first, second, third, chats.probe].map((chat) => talk.send(stage, chat, 'plain'))
  const reordered = talk.sendReordered(stage, chats.lost)
  stage.repeat(chats.lost)
  await answered([...withFaults, ...reordered])
  stage.repeat(chats.lost)

  // Users write during an outage.
  faults.startOutage('cut')
  const duringOutage = [...askInAllChats(), talk.send(stage, first, 'wordy')]
  await faults.endOutage()
  await answered(duringOutage)

  // The gateway is stopped during a turn, and users write before the next start.
  const interrupted = talk.send(stage, first, 'plain')
  const { asked, release } = model.holdBack(tokenOf(interrupted))
  await asked
  await world.stop(AbortSignal.abort())
  const missed = [first, second, third].map((chat) => talk.send(stage, chat, 'plain'))
  release()
  await world.start()
  await answered([interrupted, ...missed])

  const shown = allChats(chats).flatMap((chat) => stage.sentMessages(chat))
  const { unanswered, unlabelled, labelled, inversions } = countDeliveries(talk.messages, shown, [], [])
  assert.deepEqual({ unanswered, unlabelled, inversions }, { unanswered: [], unlabelled: [], inversions: [] })
  assert.equal(labelled === 0, lostReceipt === 'found', `${labelled} answers say that they may be duplicates`)
  assert.ok(limit.refused() > 0, 'no call was rate limited')
  assert.equal(faults.earlyCalls(), 0, 'a call ignored the wait time')

  async function answered(asked: readonly TrackedMessage[]): Promise<void> {
    const all = await withTimeout(Promise.all(asked.map((one) => one.answered)), waitLimitMs())
    const left = asked.filter(({ tookMs }) => tookMs === undefined).map(tokenOf)
    assert.ok(all.done, `no reply to ${left}; log:\n${world.log.slice(-20).join('')}`)
  }
}
