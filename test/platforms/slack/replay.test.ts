/**
 * Payloads as Slack documents them, and strange ones made of them, through the normalise function.
 */
import { replayContract } from '../../kit/replay.ts'
import { subject } from '../../replay/slack/subject.ts'

replayContract(subject)
