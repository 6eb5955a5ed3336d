/**
 * Messages and replies are numbered as they come, so the oldest are those with the lowest numbers: an index by age beside
 * that was written with each of them and read once a day.
 */
export const dropAgeIndexes = `
drop index inbox_by_age;
drop index outbox_by_age;
`
