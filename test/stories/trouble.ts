/**
 * The short form of the proof of the platforms (test/proof/platforms): one chat product, a few troubles at the same time,
 * a cut, an end in the middle of a turn. Everything that was written must have been answered once, in order.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { withTimeout } from '../../src/lib/timers.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { draftThreshold, startProofModel } from '../proof/platforms/model.ts'
import { allChats, type Stage } from '../proof/platforms/stage.ts'
import { type Asked, createTalk } from '../proof/platforms/talk.ts'
import { tallyOf, tokenOf } from '../proof/tally.ts'

/** What became of the answer whose receipt was lost: the platform could tell that it has it, or people see it twice. */
export type LostReceipt = 'found' | 'labelled'

const patienceMs = 20_000

export async function liveThroughTroubles(
  t: TestContext,
  startStage: () => Promise<Stage>,
  lostReceipt: LostReceipt,
): Promise<void> {
  const stage = await startStage()
  const { platform, chats, faults, calls, nameOf } = stage
  const model = await startProofModel(new Map())
  const talk = createTalk([stage])
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
  const everywhere = () => allChats(chats).map((chat) => talk.ask(stage, chat, 'plain'))
  const [first = '', second = '', third = ''] = chats.busy
  const sendsTo = (chat: string) => (call: { method: string; chat?: string }) =>
    call.chat === nameOf(chat) && calls.send.test(call.method)

  await answered(everywhere())

  // Five chats, a trouble for each.
  faults.reset(sendsTo(first))
  faults.dropResponse(sendsTo(second))
  faults.respond(sendsTo(third), stage.answers.broken)
  const limit = faults.limit({ on: calls.counted, chat: nameOf(chats.probe), ms: 500 })
  const troubled = [first, second, third, chats.probe].map((chat) => talk.ask(stage, chat, 'plain'))
  const reordered = talk.askReordered(stage, chats.lost)
  stage.repeat(chats.lost)
  await answered([...troubled, ...reordered])
  stage.repeat(chats.lost)

  // Nothing gets through any more, and people write all the same.
  faults.startOutage('cut')
  const cutOff = [...everywhere(), talk.ask(stage, first, 'wordy')]
  await faults.endOutage()
  await answered(cutOff)

  // The end in the middle of a turn; people write while nobody is there.
  const thought = talk.ask(stage, first, 'plain')
  const { asked, release } = model.holdBack(tokenOf(thought))
  await asked
  await world.stop(AbortSignal.abort())
  const missed = [first, second, third].map((chat) => talk.ask(stage, chat, 'plain'))
  release()
  await world.start()
  await answered([thought, ...missed])

  const shown = allChats(chats).flatMap((chat) => stage.shown(chat))
  const { unanswered, unlabelled, labelled, inversions } = tallyOf(talk.asked, shown, [], [])
  assert.deepEqual({ unanswered, unlabelled, inversions }, { unanswered: [], unlabelled: [], inversions: [] })
  assert.equal(labelled === 0, lostReceipt === 'found', `${labelled} answers say that they may be duplicates`)
  assert.ok(limit.refused() > 0, 'the limit met nobody')
  assert.equal(faults.earlyCalls(), 0, 'the platform was called before it allowed that')

  async function answered(asked: readonly Asked[]): Promise<void> {
    const all = await withTimeout(Promise.all(asked.map((one) => one.answered)), patienceMs)
    const left = asked.filter(({ tookMs }) => tookMs === undefined).map(tokenOf)
    assert.ok(all.done, `no answer to ${left}; log:\n${world.log.slice(-20).join('')}`)
  }
}
