import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReplays, replayFolder } from '../kit/replay.ts'
import { replayedPlatforms, subjectOf } from './payloads.ts'

test('the proof finds the normalise function of every platform that has payloads', async () => {
  for (const platform of replayedPlatforms()) {
    const subject = await subjectOf(platform)
    assert.equal(subject.platform, platform)
    assert.ok(readReplays(replayFolder(platform)).length >= 30, `${platform} has fewer than 30 payloads`)
  }
})
