/** The inbox calls an event that was given up `dead`, as the outbox does, instead of `parked`. */
export const deadLetters = `
drop index inbox_parked;
update inbox set state = 'dead' where state = 'parked';
create index inbox_dead on inbox (seq) where state = 'dead';
`
